import type { RecordedEnd, RecordedRequest } from '../app/audit-trail.ts';
import type { TokenFacts } from '../app/caller.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { formatMilliseconds } from '../core/timestamps.ts';
import type { CallerCount } from './caller-tally.ts';
import type { RefusalCount } from './refusal-tally.ts';
import { UNTOLD } from './told.ts';

/** How a keyed hash is written, here and in the answers of `sys/audit-hash`. */
export function hashText(hash: Uint8Array): string {
  return `hmac-sha256:${Buffer.from(hash).toString('hex')}`;
}

/** Characters of policies' names that a record has: those of a token may be sixteen times as many. */
const MOST_POLICIES = 4096;

/** The first of them, and how many more there are: the record of the token's making has all. */
const tellPolicies = memoizeWeak((policies: readonly string[]) => {
  let length = 0;
  const told = policies.findIndex((name) => {
    length += name.length;
    return length > MOST_POLICIES;
  });
  return told < 0
    ? { policies }
    : { policies: policies.slice(0, told), further_policies: policies.length - told };
});

/** What records name a caller by. */
export interface NamedToken {
  token: string;
  accessor: string;
  display_name: string;
  entity_id: string | undefined;
}

export function nameToken(token: TokenFacts): NamedToken {
  return {
    token: hashText(Buffer.from(token.id, 'base64url')),
    accessor: token.accessor,
    display_name: token.display_name,
    entity_id: token.entity_id || undefined,
  };
}

/**
 * Builds the audit record of one request, from an allow-list of facts only: nothing that a
 * route has not named can be in it. Tokens appear as their keyed hash and accessor.
 *
 * @param now Unix milliseconds
 * @returns the text of a JSON object
 */
export function buildRecord(request: RecordedRequest, now: number, end: RecordedEnd): string {
  const { record, token, mount, unknown_token } = request;
  return JSON.stringify({
    time: formatMilliseconds(now),
    request: {
      id: request.request_id,
      route: record.route || undefined,
      operation: record.operation,
      path: record.path,
      mount: mount.path || undefined,
      mount_id: mount.id || undefined,
      remote_address: record.remote_address,
      headers: record.headers,
      data: record.request,
    },
    auth: token
      ? { ...nameToken(token), ...tellPolicies(token.policies) }
      : unknown_token && { unknown_token: hashText(unknown_token) },
    response: { ...end, ...record.outcome },
  });
}

/** Characters of a record of what had no effect, beyond which it tells only the beginning of what was sent. */
const BRIEF_LIMIT = 16_384;
/** Characters of one field then, as JSON has it. */
const MOST_OF_FIELD = 1024;

/**
 * As {@link buildRecord}, of a request that changed nothing: what was sent is told to its first items, and
 * how many more there are. Nothing follows from the rest, and asking costs nobody a grant.
 */
export function buildBriefRecord(request: RecordedRequest, now: number, end: RecordedEnd): string {
  const whole = buildRecord(request, now, end);
  if (whole.length <= BRIEF_LIMIT) return whole;
  const told = Object.entries(request.record.request).flatMap(([name, value]) =>
    tellField(name, value),
  );
  const record = { ...request.record, request: Object.fromEntries(told) };
  return buildRecord({ ...request, record }, now, end);
}

/** Whole or not at all: of a secret that is cut in two, neither half is known by its form. */
function tellField(name: string, value: unknown): [name: string, told: unknown][] {
  if (lengthOf(value) <= MOST_OF_FIELD) return [[name, value]];
  if (!Array.isArray(value)) return [[name, UNTOLD]];
  let length = 0;
  const told = value.findIndex((item) => {
    length += lengthOf(item);
    return length > MOST_OF_FIELD;
  });
  return [
    [name, value.slice(0, told)],
    [`further_${name}`, value.length - told],
  ];
}

const lengthOf = (value: unknown): number => (JSON.stringify(value) ?? '').length + 1;

/** Most bytes of a record that somebody unknown can cause, or, besides the names of their policies, who asks too often. */
const SHORT_LIMIT = 2048;
const SHORT_PATH = 256;

/**
 * As {@link buildRecord}, of a request that is refused whatever it says: what was sent cannot make it long.
 *
 * @param conceal what is done with a text before it is cut: of a secret that is cut neither half is known by its form
 */
export function buildShortRecord(
  request: RecordedRequest,
  now: number,
  end: RecordedEnd,
  conceal: (text: string) => string,
): string {
  const whole = buildRecord(request, now, end);
  if (Buffer.byteLength(whole) <= SHORT_LIMIT) return whole;
  const record = {
    ...request.record,
    path: conceal(request.record.path).slice(0, SHORT_PATH),
    request: {},
    headers: undefined,
  };
  const error = end.error === undefined ? undefined : conceal(end.error).slice(0, SHORT_PATH);
  return buildRecord({ ...request, record }, now, error === undefined ? end : { ...end, error });
}

/** The record of refused requests that were only counted. */
export function buildCountRecord(count: RefusalCount, since: number, now: number): string {
  return JSON.stringify({
    time: new Date(now).toISOString(),
    refused: { ...count, since: new Date(since).toISOString() },
  });
}

/** As {@link buildCountRecord}, of callers who are known. */
export function buildCallerCountRecord(
  { caller, ...count }: CallerCount<NamedToken>,
  since: number,
  now: number,
): string {
  return JSON.stringify({
    time: new Date(now).toISOString(),
    auth: caller,
    refused: { ...count, because: TOO_OFTEN, since: new Date(since).toISOString() },
  });
}

/** Why somebody known is refused without a look at what they ask. */
export const TOO_OFTEN = 'too many requests';
