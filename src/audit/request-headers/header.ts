import { z } from 'zod';
import { invalid } from '../../core/failure.ts';

/** How records tell a header. */
export const headerSettingsSchema = z.object({
  hmac: z.boolean().describe('Its values are told as keyed hashes.'),
});
export type HeaderSettings = z.output<typeof headerSettingsSchema>;

/** Which headers records tell, by name in lower case. */
export type AuditedHeaders = ReadonlyMap<string, HeaderSettings>;

/** A field name (RFC 9110 §5.1), which clients may write in either case. */
const NAME = /^[a-z0-9][!#$%&'*+.^_`|~0-9a-z-]{0,255}$/;

/** @throws Failure `invalid` for what is no name of a header */
export function parseHeaderName(sent: string): string {
  const name = sent.toLowerCase();
  if (NAME.test(name)) return name;
  throw invalid('header: letters, digits and "-", as in the name of a header');
}

/** Each request may bring all of them. */
export const MOST_HEADERS = 100;

/** What lets somebody in stands in no record, however it is configured. */
const CREDENTIALS: readonly string[] = [
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-vault-token',
];
/** Longer values are told by their hash: a record has its bounds. */
const LONGEST_TOLD = 1024;
/** What a record writes in the place of a secret is no value's own text. */
const HASH_FORM = /hmac-sha256:/;

/**
 * The headers of a request that its record tells, each with all its values.
 *
 * @param raw names and values in turn, as they came
 * @param hash makes the form in which a secret stands in records
 */
export function tellHeaders(
  headers: AuditedHeaders,
  raw: readonly string[],
  hash: (value: string) => string,
): Record<string, string[]> | undefined {
  let told: Record<string, string[]> | undefined;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    const known = headers.get(name);
    if (!known) continue;
    const value = raw[at + 1] ?? '';
    const isHashed =
      known.hmac ||
      CREDENTIALS.includes(name) ||
      value.length > LONGEST_TOLD ||
      HASH_FORM.test(value);
    told ??= {};
    const values = Object.hasOwn(told, name) ? told[name] : undefined;
    told[name] = [...(values ?? []), isHashed ? hash(value) : value];
  }
  return told;
}
