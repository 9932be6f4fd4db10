import { objectOf, textOf } from '../broker-client.ts';

/** What a session's credentials give to a tool that logs in. */
export interface Login {
  username?: string;
  password?: string;
  /** For ssh, in PEM. */
  private_key?: string;
  passphrase?: string;
}

/** A certificate and its key for TLS, in PEM, as libraries of certificates give them. */
export interface ClientCertificate {
  certificate: string;
  private_key: string;
}

/**
 * The first user's name with a secret among the credentials that came with a session. Credentials
 * without a type are looked at for the usual names of members, also within `data`, where key-value
 * engines have them.
 *
 * @param credentials as in the answer to an authorization
 */
export function chooseLogin(credentials: readonly unknown[]): Login {
  const logins = credentials.map(loginOf);
  const whole = logins.find(
    ({ username, password, private_key }) => username && (password || private_key),
  );
  return whole ?? logins.find(({ password }) => password) ?? {};
}

/** The first of the credentials that a server may be shown in TLS. */
export function chooseCertificate(credentials: readonly unknown[]): ClientCertificate | undefined {
  for (const credential of credentials) {
    const secret = secretOf(credential);
    const [certificate, private_key] = [
      textOf(secret, 'certificate'),
      textOf(secret, 'private_key'),
    ];
    if (certificate === '' || private_key === '') continue;
    const chain = secret.ca_chain;
    const issuers = Array.isArray(chain) ? chain.filter((one) => typeof one === 'string') : [];
    return { certificate: [certificate, ...issuers].join('\n'), private_key };
  }
  return undefined;
}

function loginOf(credential: unknown): Login {
  const secret = secretOf(credential);
  // The key of a certificate is none for ssh.
  const isForTls = textOf(secret, 'certificate') !== '';
  const members = {
    username: textOf(secret, 'username'),
    password: textOf(secret, 'password'),
    private_key: isForTls ? '' : textOf(secret, 'private_key'),
    passphrase: isForTls ? '' : textOf(secret, 'private_key_passphrase'),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''));
}

/** What is told by type, or else the object that a library gave. */
function secretOf(credential: unknown): Record<string, unknown> {
  const { credential: typed, secret } = objectOf(credential);
  const known = objectOf(typed);
  if (Object.keys(known).length > 0) return known;
  const decoded = objectOf(objectOf(secret).decoded);
  const inner = objectOf(decoded.data);
  return Object.keys(inner).length > 0 ? inner : decoded;
}
