import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { siteOf } from '../../core/fairness/party.ts';
import { type PlannedToken, plainToken } from './token.ts';

/** The policy that marks the token of a wrapped answer; no other token can have it. */
const WRAPPING_POLICY = 'response-wrapping';

/** Says whether a token stands for a wrapped answer, and so for nobody who may call anything. */
export function isWrappingToken(token: { readonly policies: readonly string[] }): boolean {
  return token.policies.includes(WRAPPING_POLICY);
}

/** What is known of a wrapped answer without opening it. */
export interface Wrapping {
  /** Where the answer came from, e.g. `pki/issue/web`. */
  creation_path: string;
  created_at_ms: number;
  /** Seconds. */
  ttl: number;
  /** Accessor of the token inside; empty when there is none. */
  wrapped_accessor: string;
}

/** A wrapping that is being made. */
export interface PlannedWrapping extends Wrapping {
  /** The mount that answered, with which the answer ends; empty for those that are always there. */
  mount_id: string;
  /** See {@link makerOf}. */
  maker: string;
}

/** What lies wrapped of one who had it wrapped. */
export interface Wrapped {
  answers: number;
  bytes: number;
}

/** As much as a cubbyhole holds; what is taken, or has run out, makes room. */
export const MOST_WRAPPED: Wrapped = { answers: 1_000, bytes: 16 << 20 };

/**
 * Whose a wrapped answer is, which has no owner and outlives the token that asked for it: an entity's,
 * also of an orphan that comes from one, otherwise a token's. A log-in has neither yet, and is its site's.
 */
export function makerOf({ token, record }: Pick<Caller, 'token' | 'record'>): string {
  if (!token) return `site:${siteOf(record.remote_address)}`;
  const entity_id = token.entity_id || (token.bounds?.ceilings.at(-1)?.entity_id ?? '');
  return entity_id === '' ? `token:${token.id}` : `entity:${entity_id}`;
}

export function sumOf(one: Wrapped, other: Wrapped): Wrapped {
  return { answers: one.answers + other.answers, bytes: one.bytes + other.bytes };
}

/** What there is too much of; undefined within the bounds. */
export function findFull({ answers, bytes }: Wrapped): string | undefined {
  if (answers > MOST_WRAPPED.answers) {
    return `at most ${MOST_WRAPPED.answers} wrapped answers of one entity, token or address wait to be unwrapped`;
  }
  if (bytes > MOST_WRAPPED.bytes) {
    return `wrapped answers of one entity, token or address that wait to be unwrapped have at most ${MOST_WRAPPED.bytes >> 20} MiB`;
  }
  return undefined;
}

/** @throws Failure `invalid` for more than one may have wrapped */
export function requireWrappingRoom(wrapped: Wrapped): void {
  const full = findFull(wrapped);
  if (full !== undefined) throw invalid(full);
}

/** The bytes of an answer as they would have been sent. */
export interface WrappedAnswer {
  content_type: string;
  body: Uint8Array;
}

/** The single-use token that stands for a wrapped answer: an orphan that outlives its maker. */
export function planWrappingToken(wrapping: PlannedWrapping): PlannedToken {
  const created_at = Math.floor(wrapping.created_at_ms / 1000);
  const { ttl, mount_id } = wrapping;
  return {
    ...plainToken(),
    mount_id,
    expires_at: created_at + ttl,
    uses_left: 1,
    policies: [WRAPPING_POLICY],
    path: wrapping.creation_path,
    display_name: '',
    num_uses: 1,
    created_at,
    creation_ttl: ttl,
    explicit_max_ttl: ttl,
  };
}

/** One byte string of an answer: its type, a zero byte, its body. */
export function encodeAnswer({ content_type, body }: WrappedAnswer): Uint8Array {
  return Buffer.concat([Buffer.from(`${content_type}\0`, 'utf8'), body]);
}

export function decodeAnswer(encoded: Uint8Array): WrappedAnswer {
  const end = encoded.indexOf(0);
  const content_type = Buffer.from(encoded.subarray(0, end)).toString('utf8');
  return { content_type, body: encoded.subarray(end + 1) };
}
