/** Both text forms that a share is handed out in. */
export function shareText(share: Uint8Array): { hex: string; base64: string } {
  const bytes = Buffer.from(share.buffer, share.byteOffset, share.length);
  return { hex: bytes.toString('hex'), base64: bytes.toString('base64') };
}

/**
 * Reads a share as an operator types it: hexadecimal, or base64 of the standard alphabet.
 * What is both is hexadecimal: of the lengths that shares have, base64 is never hex by chance.
 *
 * @returns undefined if it is neither
 */
export function parseShare(text: string): Uint8Array | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (/^([0-9a-fA-F]{2})+$/.test(trimmed)) return Buffer.from(trimmed, 'hex');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(trimmed)) return undefined;
  const bytes = Buffer.from(trimmed, 'base64');
  return bytes.toString('base64') === trimmed ? bytes : undefined;
}
