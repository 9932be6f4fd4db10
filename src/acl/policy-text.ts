import { invalid } from '../core/failure.ts';

/**
 * Takes off the base64 that a policy may be sent in. A text that is not base64 from end to end is
 * handed back as it is; a policy never is, for it has quotes and braces.
 *
 * @throws Failure `invalid` when what was encoded is not UTF-8
 */
export function decodePolicyText(sent: string): string {
  const compact = sent.replaceAll(/[\r\n]/g, '');
  if (compact === '' || compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    return sent;
  }
  try {
    const bytes = Uint8Array.fromBase64(compact);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const because = 'failed to parse policy: neither HCL nor JSON, nor base64 of either in UTF-8';
    throw invalid(because, { cause });
  }
}

/** {@link decodePolicyText} of a text that may be none: then it stays as it is. */
export function unpackPolicyText(sent: string): string {
  try {
    return decodePolicyText(sent);
  } catch {
    return sent;
  }
}

const ESCAPE =
  /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-3][0-7]{2})|(["\\/]))/g;

/** A text with its escapes read, wherever they stand; to look for words in. */
export function readEscapes(text: string): string {
  return text.replaceAll(ESCAPE, (written: string, ...found: (string | undefined)[]) => {
    const [short, long, byte, octal, plain] = found;
    if (plain !== undefined) return plain;
    const hex = short ?? long ?? byte;
    const code = Number.parseInt(hex ?? octal ?? '', hex === undefined ? 8 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}
