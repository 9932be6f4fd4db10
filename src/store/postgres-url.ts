import { readFileSync } from 'node:fs';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { Failure } from '../core/failure.ts';

/** How a connection is secured. Each is what it says, and none falls back to a weaker one. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** Parameters of a URL that tell how a connection is secured; the driver's own reading differs. */
interface Security {
  sslmode: (typeof MODES)[number];
  /** Files; empty: none. */
  sslrootcert: string;
  sslcert: string;
  sslkey: string;
}

/**
 * Takes from the URL of a database what tells how to secure the connection.
 *
 * @returns the URL without it, for the driver
 * @throws Failure `invalid` that says what is wrong and never shows the URL, which has a password
 */
export function parsePostgresUrl(text: string): { url: string; security: Security } {
  if (!URL.canParse(text)) throw wrong('storage.url is no URL of a PostgreSQL database');
  const url = new URL(text);
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    throw wrong('storage.url must begin with postgres://');
  }
  const take = (name: string): string => {
    const [value = '', ...more] = url.searchParams.getAll(name);
    if (more.length > 0) throw wrong(`storage.url has ${name} twice`);
    url.searchParams.delete(name);
    return value;
  };
  for (const name of ['ssl', 'uselibpqcompat', 'sslnegotiation', 'sslpassword', 'sslcrl']) {
    if (url.searchParams.has(name)) throw wrong(`storage.url has ${name}: use sslmode`);
  }
  const wanted = take('sslmode') || 'disable';
  const sslmode = MODES.find((mode) => mode === wanted);
  if (!sslmode) throw wrong(`sslmode of storage.url must be one of ${MODES.join(', ')}`);
  const files = {
    sslrootcert: take('sslrootcert'),
    sslcert: take('sslcert'),
    sslkey: take('sslkey'),
  };
  if (sslmode === 'disable' && Object.values(files).some((file) => file !== '')) {
    throw wrong('storage.url names certificates: say sslmode=verify-full');
  }
  if (sslmode === 'verify-ca' && files.sslrootcert === '') {
    throw wrong(
      'sslmode=verify-ca of storage.url needs sslrootcert: any server has some certificate',
    );
  }
  if ((files.sslcert === '') !== (files.sslkey === '')) {
    throw wrong('sslcert and sslkey of storage.url belong together');
  }
  return { url: url.href, security: { sslmode, ...files } };
}

const wrong = (because: string): Failure => new Failure('invalid', because);

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
    throw new Failure('invalid', `${parameter} of storage.url: "${path}" cannot be read: ${code}`, {
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
