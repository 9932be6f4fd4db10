import { readFileSync } from 'node:fs';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { Failure, invalid } from '../../core/failure.ts';
import type { Security } from '../../core/postgres-url.ts';

/**
 * What the driver is told of TLS; the files are read anew for each connection.
 *
 * @returns false for none, which holds whatever the environment says
 * @throws Failure `invalid` for a file that cannot be read
 */
export function tlsOf({
  sslmode,
  sslrootcert,
  sslcert,
  sslkey,
}: Security): false | ConnectionOptions {
  if (sslmode === 'disable') return false;
  return {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(sslrootcert === '' ? {} : { ca: readFile('sslrootcert', sslrootcert) }),
    ...(sslcert === ''
      ? {}
      : { cert: readFile('sslcert', sslcert), key: readFile('sslkey', sslkey) }),
    // The authority alone vouches for the server there: whoever has a certificate of it may be it.
    checkServerIdentity: sslmode === 'verify-ca' ? () => undefined : checkServerIdentity,
  };
}

function readFile(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error ? Reflect.get(cause, 'code') : '';
    throw invalid(`${parameter} of storage.url: "${path}" cannot be read: ${code}`, {
      cause,
    });
  }
}

const NO_TLS = 'The server does not support SSL connections';

/** Says in one line why no connection came about, without the URL; anything else as it is. */
export function describeConnectFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  const code = String(Reflect.get(error, 'code') ?? '');
  const say = (why: string): Failure =>
    new Failure('unavailable', `the database cannot be reached: ${why}`, { cause: error });
  if (error.message === NO_TLS) {
    return say('it offers no TLS, and sslmode of storage.url asks for it');
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return say('its certificate is for another name');
  if (code === 'CERT_HAS_EXPIRED') return say('its certificate has expired');
  if (/CERT|SIGNED|VERIFY|ISSUER|UNTRUSTED|CRL|CHAIN/.test(code)) {
    return say(`its certificate is not trusted (${code}); sslrootcert names who is`);
  }
  // Of PostgreSQL itself: a password, a role, a database, a rule of pg_hba.conf.
  if (/^(28|3D|53|57)/.test(code) && code.length === 5) return say(error.message);
  if (/^(ERR_SSL|ERR_OSSL|EPROTO)/.test(code)) return say(`TLS fails (${code})`);
  if (/^E[A-Z]+$/.test(code)) return say(code);
  return error;
}
