import { MAX_TEMPLATE_LENGTH } from './template.ts';

/** Fields of a library that may be longer than the others, in characters. */
export const LONGEST_TEXTS: Readonly<Record<string, number>> = { http_request_body: 16_384 };

/** Entries of a list or an object of texts, and how long all of them together may be. */
const MAX_ENTRIES = 64;
const MAX_TOTAL = 16_384;
const MAX_NAME_LENGTH = 256;

/**
 * Says what is too long or too many in a field of a library: every session reads them, and
 * fills them in.
 *
 * @param value a text, a list of texts, an object of texts; anything else has no length
 * @returns the refusal, or undefined
 */
export function judgeLength(field: string, value: unknown): string | undefined {
  const longest = LONGEST_TEXTS[field] ?? MAX_TEMPLATE_LENGTH;
  if (typeof value === 'string') {
    return value.length > longest ? `This must have at most ${longest} characters.` : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const texts: unknown[] = Object.values(value);
  if (texts.length > MAX_ENTRIES) return `This must have at most ${MAX_ENTRIES} entries.`;
  if (names.some(({ length }) => length > MAX_NAME_LENGTH)) {
    return `Names must have at most ${MAX_NAME_LENGTH} characters.`;
  }
  const lengths = texts.map((text) => (typeof text === 'string' ? text.length : 0));
  if (lengths.some((length) => length > longest)) {
    return `Each value must have at most ${longest} characters.`;
  }
  const total = lengths.reduce((sum, length) => sum + length, 0);
  return total > MAX_TOTAL
    ? `Values must have at most ${MAX_TOTAL} characters together.`
    : undefined;
}
