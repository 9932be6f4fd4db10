import { z } from 'zod';

/** What a password account keeps. */
export interface AccountBody {
  login_name: string;
  /** Empty for an account that nobody can log in with yet. */
  password_hash: string;
}

/** Attributes by kind of account. */
export const accountAttributes = {
  password: z.object({
    login_name: z.string().optional().describe('Lower case; unique in the auth method.'),
    password: z.string().optional().describe('Input only; it is never shown.'),
  }),
};

/** Under what an account is found when somebody logs in. */
export function loginKey(auth_method_id: string, login_name: string): string {
  return `${auth_method_id}:${login_name}`;
}
