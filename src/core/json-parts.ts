/** How much a text of JSON may hold. */
export interface JsonLimits {
  /** Most objects and arrays inside one another. */
  maxDepth: number;
  /** Most values, counting members and elements; a text of brackets alone costs memory. */
  maxValues: number;
  /** Most members of all objects together: keys that differ cost a hundred times what values do. */
  maxMembers: number;
}

/** What a text of JSON holds. */
export interface JsonParts {
  values: number;
  members: number;
  /** The limit that it is beyond: then nothing after that was counted. */
  beyond?: keyof JsonLimits;
}

/** What a value, and a member besides, takes once it is parsed: far more than the two characters of a bracket. */
const BYTES = { value: 64, member: 192 } as const;

/** Bytes that parts take once they are parsed, besides their texts. */
export const weighJsonParts = ({ values, members }: JsonParts): number =>
  BYTES.value * values + BYTES.member * members;

const CODE = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

/**
 * Looks over a text before it is parsed, since parsing takes fifty times as long: counts its values, and the members of
 * all objects, each of which has one colon outside of strings. Says nothing about texts that are not JSON, but that
 * parsing them comes to no more than what was counted before it fails.
 */
export function countJsonParts(
  text: string,
  { maxDepth, maxValues, maxMembers }: JsonLimits,
): JsonParts {
  let depth = 0;
  let values = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === CODE.quote) {
      at = endOfString(text, at);
      if (at < 0) return { members, values };
    } else if (code === CODE.colon) {
      if (++members > maxMembers) return { members, values, beyond: 'maxMembers' };
    } else if (code === CODE.comma) {
      if (++values > maxValues) return { members, values, beyond: 'maxValues' };
    } else if (code === CODE.openBrace || code === CODE.openBracket) {
      if (++values > maxValues) return { members, values, beyond: 'maxValues' };
      if (++depth > maxDepth) return { members, values, beyond: 'maxDepth' };
    } else if (code === CODE.closeBrace || code === CODE.closeBracket) {
      depth--;
    }
  }
  return { members, values };
}

/** Strings up to here are faster to step through than to search. */
const SHORT = 48;

/** @returns the place of the closing quote, -1 if there is none */
function endOfString(text: string, start: number): number {
  for (let from = start + 1; from < text.length; ) {
    const near = Math.min(text.length, from + SHORT);
    for (; from < near; from++) {
      const code = text.charCodeAt(from);
      if (code === CODE.quote) return from;
      if (code === CODE.backslash) from++;
    }
    const end = text.indexOf('"', from);
    if (end < 0) return -1;
    // An odd number of backslashes before it makes it part of the string. None of those that
    // were stepped over counts: what they escape was stepped over, too.
    let before = end - 1;
    while (before >= from && text.charCodeAt(before) === CODE.backslash) before--;
    if ((end - before) % 2 === 1) return end;
    from = end + 1;
  }
  return -1;
}
