import { z } from 'zod';
import { wholeNumber } from '../../resource/fields.ts';

/** Attributes by kind of auth method. */
export const authMethodAttributes = {
  password: z.object({
    min_login_name_length: wholeNumber().optional().describe('Characters of a log-in name; 3.'),
    min_password_length: wholeNumber().optional().describe('Characters of a password; 8.'),
  }),
};

/** Kinds that can be made. */
export const AUTH_METHOD_TYPES: readonly string[] = Object.keys(authMethodAttributes);
