import { hasKeyTwice } from './json-keys.ts';
import { countJsonParts, type JsonLimits } from './json-parts.ts';

/**
 * Parses a text of JSON that a field holds, of as many parts as the field can mean.
 *
 * @returns undefined for what is not JSON, has a key twice, or has more parts than the limits
 */
export function parseJsonText(text: string, limits: JsonLimits): unknown {
  return countJsonParts(text, limits).beyond === undefined ? parseCounted(text) : undefined;
}

/** The same of a text whose parts were counted. */
export function parseCounted(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    return hasKeyTwice(text, parsed) ? undefined : parsed;
  } catch {
    return undefined;
  }
}
