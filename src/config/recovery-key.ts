import { invalid } from '../core/failure.ts';

const KEY_LENGTH = 32;

/**
 * Reads the key that recovery tokens are made with: base64 of 32 bytes.
 *
 * @param what the setting's name, for the refusal; the key itself is never in it
 */
export function parseRecoveryKey(what: string, text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  const key = Buffer.from(text, 'base64');
  if (isBase64 && key.length === KEY_LENGTH) return key;
  throw invalid(`${what} must be ${KEY_LENGTH} bytes in base64`);
}
