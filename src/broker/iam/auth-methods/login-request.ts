import { z } from 'zod';
import { FieldErrors } from '../../resource/field-errors.ts';
import { parseId } from '../../resource/ids.ts';
import type { Fields } from '../../resource/route.ts';

export const authenticateFields = z.object({
  command: z.string().optional().describe('`login`; the same when absent.'),
  type: z.string().optional().describe('`token` or `cookie`.'),
  token_type: z.string().optional().describe('The former name of `type`.'),
  attributes: z.record(z.string(), z.unknown()).optional().describe('`login_name` and `password`.'),
});

/** A request to log in with a name and a password. */
export interface LogInRequest {
  login_name: string;
  password: string;
  /** Empty when the request names none: the answer then names none either. */
  type: '' | 'token' | 'cookie';
}

const IN_LOGIN = 'Invalid fields provided in request.';
const REQUIRED = 'This is a required field.';

/**
 * Reads a request to log in.
 *
 * @throws Failure `invalid` naming every field that is wrong
 * @see B-28, B-29
 */
export function readLogIn(id: string, item: Fields): LogInRequest {
  const errors = new FieldErrors();
  if (parseId(id)?.type !== 'auth-method') {
    errors.add('auth_method_id', 'Unknown auth method type.');
    errors.refuse(IN_LOGIN);
  }
  const type = String(item.type ?? item.token_type ?? '').toLowerCase();
  if (type !== '' && type !== 'token' && type !== 'cookie') {
    errors.add('type', 'The only accepted types are "token" and "cookie".');
  }
  // The empty text is what the format's standard has for a plain field that is not there.
  if (item.command !== undefined && item.command !== '' && item.command !== 'login') {
    errors.add('command', 'Invalid command for this auth method type.');
  }
  const { attributes } = item;
  const given = isObject(attributes) ? attributes : undefined;
  if (!given) errors.add('attributes', REQUIRED);
  const textOf = (field: 'login_name' | 'password'): string => {
    const value = given?.[field];
    if (given && (value === undefined || value === null || value === '')) {
      errors.add(`attributes.${field}`, REQUIRED);
    }
    if (value !== undefined && value !== null && typeof value !== 'string') {
      errors.add('attributes', 'Attribute fields do not match the expected format.');
    }
    return typeof value === 'string' ? value : '';
  };
  const login_name = textOf('login_name');
  const password = textOf('password');
  const unknown = Object.keys(given ?? {}).some((key) => !['login_name', 'password'].includes(key));
  if (unknown) errors.add('attributes', 'Attribute fields do not match the expected format.');
  errors.refuse(IN_LOGIN);
  return { login_name, password, type: type === 'token' || type === 'cookie' ? type : '' };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
