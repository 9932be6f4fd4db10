import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { decodeBase58, encodeBase58 } from '../../core/base58.ts';
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../core/protobuf.ts';

// How a worker that comes for the first time and its server prove to each other that they share
// the secret of a token, over a connection on which neither knows the other's key yet. The secret
// itself is never sent. Each proof is bound to the server's certificate of that connection, so that
// nobody in between can pass it on.

/** What both ends of the first connection say. */
export interface FirstMeeting {
  /** Shared, 32 bytes. */
  secret: Uint8Array;
  /** The worker's: DER of its subjectPublicKeyInfo. */
  public_key: Uint8Array;
  /** DER, as it stands in the connection. */
  server_certificate: Uint8Array;
}

/** The worker's proof. */
export function workerProof(meeting: FirstMeeting): Buffer {
  return proofOf('worker', meeting, []);
}

/** The server's proof of what it answers: the worker's certificate, then the roots. */
export function serverProof(meeting: FirstMeeting, answered: readonly Uint8Array[]): Buffer {
  return proofOf('server', meeting, answered);
}

/** Compares in constant time. */
export function isProof(expected: Buffer, shown: Uint8Array): boolean {
  return expected.length === shown.length && timingSafeEqual(expected, shown);
}

function proofOf(who: string, meeting: FirstMeeting, more: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('sha256', meeting.secret).update(`gatehouse ${who} enrolment\n`);
  for (const part of [meeting.public_key, meeting.server_certificate, ...more]) {
    hmac.update(createHash('sha256').update(part).digest());
  }
  return hmac.digest();
}

/** Bytes of a secret, and of a nonce. */
const PART = 32;
const PREFIX = 'neslat_';

/**
 * The text that an operator puts into a worker's configuration: `neslat_` and base58 of a message whose
 * fields 1 and 2 are a nonce and the secret.
 */
export function formatActivationToken({ nonce, secret }: ActivationToken): string {
  const message = new ProtobufWriter().bytes(1, nonce).bytes(2, secret);
  return `${PREFIX}${encodeBase58(message.finish())}`;
}

export interface ActivationToken {
  /** What the server finds the token by. */
  nonce: Uint8Array;
  secret: Uint8Array;
}

/** @returns undefined for text that is no activation token */
export function parseActivationToken(text: string): ActivationToken | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const fields = readFields(text.slice(PREFIX.length));
  return fields && { nonce: fields[0], secret: fields[1] };
}

/** What a worker shows that makes its own token: its public key, and the secret. */
export interface WorkerToken {
  /** Ed25519, 32 bytes. */
  public_key: Uint8Array;
  secret: Uint8Array;
}

export function formatWorkerToken({ public_key, secret }: WorkerToken): string {
  return encodeBase58(new ProtobufWriter().bytes(1, public_key).bytes(2, secret).finish());
}

/** @returns undefined for text that is no token of a worker */
export function parseWorkerToken(text: string): WorkerToken | undefined {
  const fields = readFields(text);
  return fields && { public_key: fields[0], secret: fields[1] };
}

/** Longer than any token: base58 takes time by the square of its length. */
const MOST_CHARACTERS = 200;

function readFields(text: string): [Uint8Array, Uint8Array] | undefined {
  const bytes = text.length > MOST_CHARACTERS ? undefined : decodeBase58(text);
  if (!bytes) return undefined;
  try {
    const fields = new ProtobufFields(bytes);
    const parts: [Uint8Array, Uint8Array] = [fields.bytes(1), fields.bytes(2)];
    return parts.every((part) => part.length === PART) ? parts : undefined;
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}

/** DER of an Ed25519 subjectPublicKeyInfo before the key (RFC 8410 §4). */
const ED25519_INFO = Buffer.from('302a300506032b6570032100', 'hex');

export const ed25519Info = (public_key: Uint8Array): Uint8Array =>
  Buffer.concat([ED25519_INFO, public_key]);

/** @returns the 32 bytes; undefined for the information of another kind of key */
export function ed25519Key(subjectPublicKeyInfo: Uint8Array): Uint8Array | undefined {
  const isIt =
    subjectPublicKeyInfo.length === ED25519_INFO.length + PART &&
    ED25519_INFO.equals(subjectPublicKeyInfo.subarray(0, ED25519_INFO.length));
  return isIt ? subjectPublicKeyInfo.subarray(ED25519_INFO.length) : undefined;
}
