import { invalid } from './failure.ts';

/** How a connection is secured. Each is what it says, and none falls back to a weaker one. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** Parameters of a URL that tell how a connection is secured; the driver's own reading differs. */
export interface Security {
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
  if (!URL.canParse(text)) throw invalid('storage.url is no URL of a PostgreSQL database');
  const url = new URL(text);
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    throw invalid('storage.url must begin with postgres://');
  }
  const take = (name: string): string => {
    const [value = '', ...more] = url.searchParams.getAll(name);
    if (more.length > 0) throw invalid(`storage.url has ${name} twice`);
    url.searchParams.delete(name);
    return value;
  };
  for (const name of ['ssl', 'uselibpqcompat', 'sslnegotiation', 'sslpassword', 'sslcrl']) {
    if (url.searchParams.has(name)) throw invalid(`storage.url has ${name}: use sslmode`);
  }
  const wanted = take('sslmode') || 'disable';
  const sslmode = MODES.find((mode) => mode === wanted);
  if (!sslmode) throw invalid(`sslmode of storage.url must be one of ${MODES.join(', ')}`);
  const files = {
    sslrootcert: take('sslrootcert'),
    sslcert: take('sslcert'),
    sslkey: take('sslkey'),
  };
  if (sslmode === 'disable' && Object.values(files).some((file) => file !== '')) {
    throw invalid('storage.url names certificates: say sslmode=verify-full');
  }
  if (sslmode === 'verify-ca' && files.sslrootcert === '') {
    throw invalid(
      'sslmode=verify-ca of storage.url needs sslrootcert: any server has some certificate',
    );
  }
  if ((files.sslcert === '') !== (files.sslkey === '')) {
    throw invalid('sslcert and sslkey of storage.url belong together');
  }
  return { url: url.href, security: { sslmode, ...files } };
}
