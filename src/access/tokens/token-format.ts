import { base62 } from '../../core/base62.ts';
import { withoutTrailing } from '../../core/edges.ts';

/**
 * The text form of tokens and their accessors, and of the one-time passwords that carry a new
 * root token to its owner. Clients know the lengths: a one-time password is as long as a token.
 */

const SERVICE_PREFIX = 'hvs.';
const BATCH_PREFIX = 'hvb.';
/** Letters of a service token after its prefix, and of an accessor: 143 bits. */
const LETTERS = 24;
/** Characters of a service token, and so of the one-time password that hides one. */
export const TOKEN_LENGTH = SERVICE_PREFIX.length + LETTERS;
/** Random bytes that each function below takes. */
export const TOKEN_RANDOMNESS = 32;

/** A new service token, e.g. `hvs.` and 24 letters. */
export function serviceToken(random: Uint8Array): string {
  return SERVICE_PREFIX + base62(random, LETTERS);
}

/** A batch token: everything about it is inside, sealed. */
export function batchToken(sealed: Uint8Array): string {
  return BATCH_PREFIX + Buffer.from(sealed).toString('base64url');
}

/** The sealed bytes of a batch token; undefined if the text is not the form of one. */
export function batchTokenBytes(token: string): Uint8Array | undefined {
  if (!token.startsWith(BATCH_PREFIX)) return undefined;
  const text = token.slice(BATCH_PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  return text !== '' && bytes.toString('base64url') === text ? bytes : undefined;
}

/** A new accessor, which can look a token up and revoke it but not be used as one. */
export function tokenAccessor(random: Uint8Array): string {
  return base62(random, LETTERS);
}

/** A new one-time password for root generation. */
export function oneTimePassword(random: Uint8Array): string {
  return base62(random, TOKEN_LENGTH);
}

/**
 * Hides a token in a one-time password: exclusive or, as unpadded base64. Clients undo it
 * with the password, which they alone keep.
 *
 * @throws RangeError if the two are not of one length
 */
export function encodeToken(token: string, otp: string): string {
  const bytes = Buffer.from(token, 'utf8');
  const mask = Buffer.from(otp, 'utf8');
  if (bytes.length !== mask.length) {
    throw new RangeError('a one-time password is as long as what it hides');
  }
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = (bytes[at] ?? 0) ^ (mask[at] ?? 0);
  return withoutTrailing(bytes.toString('base64'), '=');
}
