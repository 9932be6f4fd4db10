import { timingSafeEqual } from 'node:crypto';
import { Failure } from '../../../core/failure.ts';

/** How far a listing has come; everything that the next call needs is in the token. */
interface ListState {
  /** Type of the items. */
  type: string;
  /** What is listed: scope or parent, and whether recursively. */
  query: string;
  /** Hash of the caller's grants on the type. */
  grants: string;
  /** Unix milliseconds. */
  created_ms: number;
  phase: ListPhase;
}

export type ListPhase =
  /** In the middle of the first listing. */
  | { at: 'page'; last: Cursor; started_ms: number; removed: number }
  /** A listing is complete: the next call asks what is new. */
  | { at: 'complete'; bound_ms: number; removed: number }
  /** In the middle of what is new. */
  | { at: 'refresh'; last: Cursor; bound_ms: number; started_ms: number; removed: number };

/** The last item that was seen, in the order of the listing. */
export interface Cursor {
  ms: number;
  id: string;
}

/** A list token is good for this long, in milliseconds. */
export const LIFETIME_MS = 30 * 24 * 3600 * 1000;
const MAC_LENGTH = 16;

/**
 * A refusal of a list token, after which clients start over; they know it by its kind.
 *
 * @see B-20
 */
export class ListTokenFailure extends Failure {
  constructor(message: string) {
    super('invalid', message);
  }
}

/**
 * Writes a list token. It says nothing secret, and nobody but this server can make one.
 *
 * @param mac keyed hash of a text
 */
export function encodeListToken(state: ListState, mac: (text: string) => Uint8Array): string {
  const payload = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${payload}.${Buffer.from(mac(payload).subarray(0, MAC_LENGTH)).toString('base64url')}`;
}

/**
 * Reads a list token.
 *
 * @param wanted what this call lists, for whom
 * @param now Unix milliseconds
 * @throws ListTokenFailure for one that was not made here, is for something else, or is too old
 */
export function decodeListToken(
  token: string,
  wanted: Pick<ListState, 'type' | 'query' | 'grants'>,
  now: number,
  mac: (text: string) => Uint8Array,
): ListState {
  const [payload = '', given = '', ...more] = token.split('.');
  const expected = Buffer.from(mac(payload).subarray(0, MAC_LENGTH));
  const found = Buffer.from(given, 'base64url');
  if (more.length > 0 || found.length !== MAC_LENGTH || !timingSafeEqual(found, expected)) {
    throw new ListTokenFailure('the list token is not one that this server gave out');
  }
  const state: ListState = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  if (state.type !== wanted.type) {
    throw new ListTokenFailure('list token resource type does not match expected resource type');
  }
  if (state.query !== wanted.query) {
    throw new ListTokenFailure('the list token is for another scope or parent');
  }
  if (now - state.created_ms > LIFETIME_MS) throw new ListTokenFailure('list token was expired');
  if (state.grants !== wanted.grants) {
    throw new ListTokenFailure('grants have changed since list token was issued');
  }
  return state;
}
