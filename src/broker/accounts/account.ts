import { z } from 'zod';
import { MAX_NAME_LENGTH } from '../field-errors.ts';

/** What a password account keeps. */
export interface AccountBody {
  login_name: string;
  /** Empty for an account that nobody can log in with yet. */
  password_hash: string;
}

/** Attributes by kind of account. */
export const accountAttributes: Readonly<Record<string, z.ZodObject>> = {
  password: z.object({
    login_name: z.string().optional().describe('Lower case; unique in the auth method.'),
    password: z.string().optional().describe('Input only; it is never shown.'),
  }),
};

const LOGIN_NAME = /^[a-z0-9.-]+$/;

/** What is wrong with a log-in name, or undefined. */
export function faultOfLoginName(login_name: string, min_length: number): string | undefined {
  if (!LOGIN_NAME.test(login_name)) {
    return 'Login name must be all-lowercase alphanumeric, period or hyphen.';
  }
  if (login_name.length < min_length) {
    return `Login name is shorter than ${min_length} characters.`;
  }
  if (login_name.length > MAX_NAME_LENGTH) {
    return `Login name is longer than ${MAX_NAME_LENGTH} characters.`;
  }
  return undefined;
}

/** Under what an account is found when somebody logs in. */
export function loginKey(auth_method_id: string, login_name: string): string {
  return `${auth_method_id}:${login_name}`;
}
