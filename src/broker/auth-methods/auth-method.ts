import { z } from 'zod';
import { wholeNumber } from '../fields.ts';

/** What a password auth method keeps. */
export interface PasswordMethodBody {
  min_login_name_length: number;
  min_password_length: number;
}

export const PASSWORD_DEFAULTS: PasswordMethodBody = {
  min_login_name_length: 3,
  min_password_length: 8,
};

/** Attributes by kind of auth method. */
export const authMethodAttributes: Readonly<Record<string, z.ZodObject>> = {
  password: z.object({
    min_login_name_length: wholeNumber().optional().describe('Characters of a log-in name; 3.'),
    min_password_length: wholeNumber().optional().describe('Characters of a password; 8.'),
  }),
};

/** Kinds that can be made. */
export const AUTH_METHOD_TYPES: readonly string[] = Object.keys(authMethodAttributes);
