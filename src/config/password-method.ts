import { MAX_NAME_LENGTH } from '../core/fields.ts';

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

/** What a password auth method keeps. */
export interface PasswordMethodBody {
  min_login_name_length: number;
  min_password_length: number;
}

export const PASSWORD_DEFAULTS: PasswordMethodBody = {
  min_login_name_length: 3,
  min_password_length: 8,
};
