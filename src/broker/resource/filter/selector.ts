import { SyntaxFault, shorten, type Token } from './tokens.ts';

/** Path into the value that is looked at, e.g. `['item', 'attributes', 'default_port']`. */
export type Selector = readonly string[];

/** Names in one path; what is filtered is far less deep. */
export const MAX_SELECTOR = 32;

export const tooDeep = (at: number): SyntaxFault =>
  new SyntaxFault(`the selector at position ${at} has more than ${MAX_SELECTOR} names`);

const POINTER_SEGMENT = /^[\p{L}\p{N}\-_.~:|]+$/u;

/** A JSON pointer (RFC 6901), as in `"/item/attributes/default_port"`. */
export function readPointer({ text, at }: Token): Selector {
  const segments = text.split('/', MAX_SELECTOR + 2).slice(1);
  if (segments.length > MAX_SELECTOR) throw tooDeep(at);
  if (!text.startsWith('/') || !segments.every((segment) => POINTER_SEGMENT.test(segment))) {
    throw new SyntaxFault(
      `"${shorten(text)}" at position ${at} is no selector: one is written "/item/name" or item.name`,
    );
  }
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
