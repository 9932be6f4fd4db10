import type { SessionCredential } from './credential.ts';

/** What a worker logs in by at an endpoint that speaks SSH; all texts, to be passed on. */
export interface SshLogin {
  username: string;
  secret:
    | { kind: 'password'; password: string }
    /** PKCS#8, DER, in base64. */
    | { kind: 'key'; private_key: string }
    /** One line, and the key that it is about. */
    | { kind: 'certificate'; private_key: string; certificate: string };
}

/** As a source gives it: its private key is PEM that a passphrase may have to open. */
export type PlannedLogin =
  | { username: string; kind: 'password'; password: string }
  | {
      username: string;
      kind: 'key' | 'certificate';
      pem: string;
      passphrase: string;
      certificate: string;
    };

export type LoginVerdict =
  | { usable: true; login: PlannedLogin }
  | { usable: false; because: string };

/** How an injected credential lets a worker in, if it can. */
export function planLogin({
  credential_source,
  credential,
  secret,
}: SessionCredential): LoginVerdict {
  const { id } = credential_source;
  const fields = credential ?? secret.decoded ?? {};
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' ? value : '';
  };
  const username = text('username');
  const refuse = (because: string): LoginVerdict => ({
    usable: false,
    because: `credential source ${id} ${because}`,
  });
  if (username === '') return refuse('gives no user name to log in with by SSH');
  const pem = text('private_key');
  const password = text('password');
  if (pem !== '') {
    const certificate = text('certificate');
    const kind = certificate === '' ? 'key' : 'certificate';
    const passphrase = text('private_key_passphrase');
    return { usable: true, login: { username, kind, pem, passphrase, certificate } };
  }
  if (password === '') return refuse('gives neither a password nor a private key');
  return { usable: true, login: { username, kind: 'password', password } };
}
