/**
 * PEM, the textual form of DER values (RFC 7468). Reading is strict inside a block and indifferent
 * to what stands around it: tools put a description before each block, and people paste them.
 */

import { type Failure, invalid } from './failure.ts';

export interface PemBlock {
  /** What the block says it is, e.g. `CERTIFICATE`. The bytes may be something else. */
  label: string;
  der: Uint8Array;
}

export interface PemCaps {
  /** Longest text, in UTF-16 units (for PEM: bytes). */
  maxLength: number;
  maxBlocks: number;
}

/** Enough for any bundle of certificates and keys; lists of revoked certificates need more. */
const PEM_CAPS: PemCaps = { maxLength: 1 << 20, maxBlocks: 128 };

const BEGIN = '-----BEGIN ';
const DASHES = '-----';
// Narrower than RFC 7468 §3, yet every label in use; a key pasted where a label belongs does not
// become one, and so is not repeated in a refusal.
const LABEL = /^[A-Z0-9]+(?: [A-Z0-9]+)*$/;
const MAX_LABEL = 64;

/**
 * Finds the blocks of a text, in order. No block at all is an empty list, not a refusal.
 *
 * @throws Failure `invalid` for a block that does not end, whose two labels differ, that is not
 *   canonical base64, that is empty or that has header lines (as old encrypted keys do), and beyond
 *   the caps. The message counts blocks from 0.
 * @see RFC 7468 §2, §3 ("stricttextualmsg" but for the width of lines)
 */
export function parsePem(text: string, caps: PemCaps = PEM_CAPS): PemBlock[] {
  return [...readPem(text, caps)];
}

/** {@link parsePem}, block by block, for a text of which whoever reads it lets others go first in between. */
export function* readPem(text: string, caps: PemCaps): Generator<PemBlock, void, undefined> {
  if (text.length > caps.maxLength) {
    throw invalid(`PEM text of ${text.length} characters, at most ${caps.maxLength} are accepted`);
  }
  let count = 0;
  for (let at = findBegin(text, 0); at !== -1; ) {
    if (count === caps.maxBlocks) throw invalid(`more than ${caps.maxBlocks} PEM blocks`);
    const { block, end } = readBlock(text, at, count);
    count += 1;
    yield block;
    at = findBegin(text, end);
  }
}

/** A begin marker opens a line; only blanks may stand before it. */
function findBegin(text: string, from: number): number {
  for (let at = text.indexOf(BEGIN, from); at !== -1; at = text.indexOf(BEGIN, at + 1)) {
    const before = text[at - 1];
    if (at === from || before === '\n' || before === '\r' || before === ' ' || before === '\t') {
      return at;
    }
  }
  return -1;
}

function readBlock(text: string, begin: number, index: number): { block: PemBlock; end: number } {
  const labelStart = begin + BEGIN.length;
  const label =
    text.slice(labelStart, labelStart + MAX_LABEL + DASHES.length).split(DASHES)[0] ?? '';
  const bodyStart = labelStart + label.length + DASHES.length;
  if (label.length > MAX_LABEL || !LABEL.test(label)) throw notPem(index, 'no label after BEGIN');

  const bodyEnd = text.indexOf(DASHES, bodyStart);
  const endMarker = `-----END ${label}-----`;
  if (bodyEnd === -1 || !text.startsWith(endMarker, bodyEnd)) {
    throw notPem(index, 'no END marker of the same label after it');
  }
  const body = text.slice(bodyStart, bodyEnd);
  if (body.includes(':')) {
    throw notPem(index, 'header lines, which encrypted keys have; send it decrypted and without');
  }
  const der = decodeBody(body);
  if (der === undefined) throw notPem(index, 'the text between the markers is not base64');
  if (der.length === 0) throw notPem(index, 'nothing between the markers');
  return { block: { label, der }, end: bodyEnd + endMarker.length };
}

// Strict: other alphabets, missing padding and stray low bits are refused, so that a value has one
// base64 text. White space is skipped.
function decodeBody(body: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(body, { lastChunkHandling: 'strict' });
  } catch {
    return undefined;
  }
}

const notPem = (index: number, why: string): Failure =>
  invalid(`error when parsing block ${index}: invalid PEM data: ${why}`);

/**
 * Writes one block, lines of 64 characters.
 *
 * @param label e.g. `X509 CRL`
 * @param options trailingNewline: end the last line too; the API's JSON fields mostly leave it out
 * @see RFC 7468 §2
 */
export function encodePem(
  label: string,
  der: Uint8Array,
  options: { trailingNewline?: boolean } = {},
): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.length).toString('base64');
  let text = `-----BEGIN ${label}-----\n`;
  for (let at = 0; at < base64.length; at += 64) text += `${base64.slice(at, at + 64)}\n`;
  return `${text}-----END ${label}-----${options.trailingNewline ? '\n' : ''}`;
}
