import { invalid } from '../core/failure.ts';
import { faultOfLoginName, PASSWORD_DEFAULTS } from './password-method.ts';

/** What the seed data of a development server is made with. */
export interface SeedSettings {
  /** Ends the ids of everything that is made: ten letters and digits. */
  id_suffix: string;
  login_name: string;
  password: string;
  /** Empty: there is no plain user. */
  unprivileged_login_name: string;
  unprivileged_password: string;
}

export const SEED_DEFAULTS: SeedSettings = {
  id_suffix: '1234567890',
  login_name: 'admin',
  password: 'password',
  unprivileged_login_name: 'user',
  unprivileged_password: 'password',
};

/** The suffix of what there are two of: the plain user and the second target. */
export function secondSuffix(id_suffix: string): string {
  return [...id_suffix].reverse().join('');
}

/**
 * Checks settings as they came from flags.
 *
 * @throws Failure `invalid` naming the flag and what it takes
 */
export function checkSeed(settings: SeedSettings): SeedSettings {
  const { id_suffix, login_name, unprivileged_login_name } = settings;
  if (!/^[A-Za-z0-9]{10}$/.test(id_suffix)) {
    throw invalid('flag -id-suffix takes ten letters and digits, such as 1234567890');
  }
  if (secondSuffix(id_suffix) === id_suffix) {
    throw invalid(
      'flag -id-suffix must not read the same backwards: read so, it ends the ids of the second target and of the plain user',
    );
  }
  checkLogin('', login_name, settings.password);
  if (unprivileged_login_name === '') return settings;
  checkLogin('unprivileged-', unprivileged_login_name, settings.unprivileged_password);
  if (unprivileged_login_name === login_name) {
    throw invalid('flags -login-name and -unprivileged-login-name must be different');
  }
  return settings;
}

function checkLogin(prefix: string, login_name: string, password: string): void {
  const { min_login_name_length, min_password_length } = PASSWORD_DEFAULTS;
  if (faultOfLoginName(login_name, min_login_name_length) !== undefined) {
    throw invalid(
      `flag -${prefix}login-name takes at least ${min_login_name_length} lower-case letters, digits, periods and hyphens`,
    );
  }
  if ([...password].length < min_password_length) {
    throw invalid(`flag -${prefix}password takes at least ${min_password_length} characters`);
  }
}
