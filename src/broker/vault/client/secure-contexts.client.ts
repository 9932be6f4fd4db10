import { createHash, type KeyObject } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { Failure } from '../../../core/failure.ts';
import { LastOf } from '../../../core/kept.ts';
import { parsePem } from '../../../core/pem.ts';
import { CLIENT_TLS } from '../../../core/tls.client.ts';
import { isPostQuantumKey } from '../../../x509/post-quantum.ts';
import {
  exportPrivateKey,
  isPrivateKeyLabel,
  parsePrivateKeyBlock,
} from '../../../x509/private-keys.ts';
import { mayBeSlowToRead } from '../../../x509/slow-certificates.ts';
import { slowCertificate, type VaultConnection } from './answer.ts';

/** Of all that are kept. */
const MOST_BYTES = 64 << 20;
/** Those of one store take part of it however long they are: without them every credential would read them again. */
const LARGEST_PART = 1 / 2;
/**
 * A certificate that was read takes at most about so many times the bytes of its PEM: 44 measured with thousands of
 * empty names in it, where a usual one takes 15 to 20.
 */
const TIMES = 48;

interface Entry {
  context: SecureContext;
  bytes: number;
}

/**
 * What connections are secured by, made once for the certificates of a store: reading hundreds of them takes
 * many milliseconds, and every credential is a connection.
 */
export class SecureContexts {
  readonly #kept = new LastOf<Entry>(MOST_BYTES, ({ bytes }) => bytes, LARGEST_PART);
  /** How many were made. */
  made = 0;

  /** @throws Error for certificates or a key that cannot be used */
  get(connection: VaultConnection): SecureContext {
    const { ca_cert, client_certificate, client_certificate_key } = connection;
    const parts = [ca_cert, client_certificate, client_certificate_key];
    const hash = createHash('sha256');
    for (const part of parts) hash.update(`${part.length}:`).update(part);
    const key = hash.digest('base64');
    const known = this.#kept.find(key);
    if (known) return known.context;
    const context = newContext(connection);
    this.made += 1;
    const bytes = TIMES * parts.reduce((sum, { length }) => sum + length, 0);
    this.#kept.set(key, { context, bytes });
    return context;
  }

  /** Private keys are in them. */
  clear(): void {
    this.#kept.clear();
  }
}

function newContext(connection: VaultConnection): SecureContext {
  const { ca_cert, client_certificate, client_certificate_key } = connection;
  // Refused where they are written, which they were not always.
  if ([ca_cert, client_certificate].some(mayBeSlowToRead)) throw slowCertificate();
  return createSecureContext({
    ...CLIENT_TLS,
    ...(ca_cert === '' ? {} : { ca: ca_cert }),
    ...(client_certificate === ''
      ? {}
      : { cert: client_certificate, key: plainKey(client_certificate_key) }),
  });
}

/**
 * The one private key of a PEM text, read by us: the TLS library would read the text by rules of its
 * own, and calculate for as long as the numbers in it make it.
 */
export function findKey(pem: string): KeyObject | undefined {
  try {
    const [block, second] = parsePem(pem).filter(({ label }) => isPrivateKeyLabel(label));
    const key = block && !second ? parsePrivateKeyBlock(block) : undefined;
    // A handshake signs on this thread, which takes up to a second with SLH-DSA; see `mayBeSlow`.
    return key && isPostQuantumKey(key) ? undefined : key;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function plainKey(pem: string): string {
  const key = findKey(pem);
  return key ? exportPrivateKey(key, 'pkcs8', 'pem') : '';
}
