import { createDecipheriv } from 'node:crypto';
import { decodeBase58 } from '../../../core/base58.ts';
import { ProtobufError, ProtobufFields } from '../../../core/protobuf.ts';

/** What a recovery token says of itself, once it has been opened. */
interface RecoveryToken {
  /** 32 random bytes, as text; each is taken once. */
  nonce: string;
  /** Unix milliseconds. */
  created_ms: number;
}

type RecoveryVerdict = { token: RecoveryToken } | { refused: string };

/** How long a token is taken after it was made. */
export const VALID_MS = 5 * 60_000;
/** How far the maker's clock may be ahead. */
const LEEWAY_MS = 60_000;

const PREFIX = 'r_1';
const MAX_LENGTH = 1_000;
const IV_LENGTH = 12;
const TAG_LENGTH = 16;
const NONCE_BYTES = 32;

/** Says whether text has the form of a recovery token, whatever is in it. */
export function isRecoveryToken(text: string): boolean {
  return text.startsWith('r_');
}

/**
 * Opens a recovery token: `r_1` and base58 of a message whose field 1 is what AES-256-GCM made
 * (the nonce, the text, the tag) of `{"nonce":"…","creation_time":"…"}`.
 *
 * @param now Unix milliseconds
 * @see B-27
 */
export function judgeRecoveryToken(text: string, key: Uint8Array, now: number): RecoveryVerdict {
  if (!text.startsWith(PREFIX) || text.length > MAX_LENGTH) {
    return { refused: 'not a recovery token of version 1' };
  }
  const message = decodeBase58(text.slice(PREFIX.length));
  const sealed = message && firstField(message);
  const opened = sealed && open(sealed, key);
  const token = opened && readToken(opened);
  if (!token) return { refused: 'the recovery token was not made with this key' };
  if (token.created_ms > now + LEEWAY_MS) {
    return { refused: 'the recovery token is from the future' };
  }
  if (token.created_ms + VALID_MS < now) return { refused: 'the recovery token has expired' };
  return { token };
}

function firstField(message: Uint8Array): Uint8Array | undefined {
  try {
    return new ProtobufFields(message).bytes(1);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    return undefined;
  }
}

function open(sealed: Uint8Array, key: Uint8Array): string | undefined {
  if (sealed.length < IV_LENGTH + TAG_LENGTH) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_LENGTH), {
    authTagLength: TAG_LENGTH,
  });
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_LENGTH));
  const text = sealed.subarray(IV_LENGTH, sealed.length - TAG_LENGTH);
  try {
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

function readToken(text: string): RecoveryToken | undefined {
  let info: unknown;
  try {
    info = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof info !== 'object' || info === null) return undefined;
  const { nonce, creation_time }: { nonce?: unknown; creation_time?: unknown } = info;
  if (typeof nonce !== 'string' || !/^[A-Za-z0-9+/]+$/.test(nonce)) return undefined;
  if (Buffer.from(nonce, 'base64').length !== NONCE_BYTES) return undefined;
  const created_ms = typeof creation_time === 'string' ? Date.parse(creation_time) : Number.NaN;
  return Number.isNaN(created_ms) ? undefined : { nonce, created_ms };
}
