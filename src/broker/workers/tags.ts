import type { FieldErrors } from '../resource/field-errors.ts';
import type { LinkChange } from '../resource/links/plan.ts';

export type Tags = Readonly<Record<string, readonly string[]>>;

/** Marks workers of a managed service, which nobody else sets. */
const MANAGED_TAG = 'boundary.cloud.hashicorp.com:managed';
const MAX_LENGTH = 512;
/** Tags of a worker, and of a request: every session asks all workers for theirs. */
const MAX_TAGS = 256;
/** Characters of a worker's tags as JSON: they are in memory, and lists show each of them twice. */
export const MAX_TAGS_LENGTH = 16_384;
const FIELD = 'api_tags';

/** What is wrong with the tags of a request, and what they are. */
export function checkTags(
  { [FIELD]: tags = {} }: { readonly [FIELD]?: unknown },
  errors: FieldErrors,
  { change }: { change: LinkChange },
): Tags {
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) {
    errors.add(FIELD, 'This must be an object of lists of strings.');
    return {};
  }
  const entries: [string, unknown][] = Object.entries(tags);
  if (entries.length === 0 && change !== 'set') errors.add(FIELD, 'Must be non-empty.');
  const unread = faultOfCount(entries.map(([, values]) => values));
  if (unread !== undefined) {
    errors.add(FIELD, unread);
    return {};
  }
  const read: [string, string[]][] = [];
  for (const [key, values] of entries) {
    const fault = faultOf(key);
    if (fault !== undefined) errors.add(FIELD, `Tag keys ${fault}`);
    else read.push([key, readValues(values, errors)]);
  }
  return Object.fromEntries(read);
}

/** What keeps tags from being kept: one that is none, or there are too many of them, or they are too long together. */
export function faultOfAll(tags: Tags): string | undefined {
  const many = faultOfCount(Object.values(tags));
  if (many !== undefined) return many;
  for (const [key, values] of Object.entries(tags)) {
    const ofKey = faultOf(key);
    if (ofKey !== undefined) return `Tag keys ${ofKey}`;
    const ofValue = values.map(faultOf).find((fault) => fault !== undefined);
    if (ofValue !== undefined) return `Tag values ${ofValue}`;
  }
  return JSON.stringify(tags).length > MAX_TAGS_LENGTH
    ? `The tags of a worker can have at most ${MAX_TAGS_LENGTH} characters as JSON.`
    : undefined;
}

/** What keeps tags from being looked at: there are too many of them. */
function faultOfCount(lists: readonly unknown[]): string | undefined {
  const count = lists.reduce<number>(
    (sum, values) => sum + (Array.isArray(values) ? Math.max(1, values.length) : 1),
    0,
  );
  return count > MAX_TAGS ? `There can be at most ${MAX_TAGS} values of tags.` : undefined;
}

function readValues(values: unknown, errors: FieldErrors): string[] {
  const read: string[] = [];
  if (!Array.isArray(values) || values.length === 0) {
    errors.add(FIELD, 'Tag values must be non-empty.');
    return read;
  }
  for (const value of values) {
    if (typeof value !== 'string') {
      errors.add(FIELD, 'Tag values must be strings.');
      continue;
    }
    const fault = faultOf(value);
    if (fault !== undefined) errors.add(FIELD, `Tag values ${fault}`);
    read.push(value);
  }
  return read;
}

function faultOf(text: string): string | undefined {
  if (text === '') return 'must be non-empty.';
  if (text.length > MAX_LENGTH) return `must be within ${MAX_LENGTH} characters.`;
  return text === MANAGED_TAG ? 'cannot be the managed worker tag.' : undefined;
}

/** Tags after a change. A key whose last value goes, goes too; in byte order, each value once. */
export function planTags(change: LinkChange, present: Tags, wanted: Tags): Tags {
  const pairs = (tags: Tags): string[] =>
    Object.entries(tags).flatMap(([key, values]) => values.map((value) => pair(key, value)));
  const given = new Set(pairs(wanted));
  const kept = change === 'set' ? [] : pairs(present);
  const after =
    change === 'remove' ? kept.filter((one) => !given.has(one)) : [...new Set([...kept, ...given])];
  const tags = new Map<string, string[]>();
  for (const one of after.sort()) {
    const [key, value] = JSON.parse(one) as [string, string];
    const values = tags.get(key);
    if (values) values.push(value);
    else tags.set(key, [value]);
  }
  return Object.fromEntries(tags);
}

const pair = (key: string, value: string): string => JSON.stringify([key, value]);
