import { hkdfSync } from 'node:crypto';
import { type EnvelopeContext, KEY_LENGTH, openEnvelope, sealEnvelope } from './envelope.ts';

/**
 * What a key is for. Every purpose has keys of its own, derived one-way from the generation's
 * key, so bytes sealed for one never open as another, and no purpose reaches the nonce limit
 * of AES-GCM (2^32 values a key) on behalf of the others. A new word here needs no migration.
 */
export type Purpose =
  | 'pki-key' // private keys of CAs
  | 'config' // secrets within configuration
  | 'token' // tokens and secret ids: keyed hashes, batch tokens
  | 'response' // wrapped responses and cubbyholes
  | 'audit' // keyed hashes in audit records
  | 'credential' // what the broker hands to sessions
  | 'recording'; // data keys of recorded sessions, secrets of where they lie

/**
 * One key as stored, wrapped by the root key. `data` keys seal values, one a generation,
 * counted from 1 by `term`; the `hash` key (term 0) makes the keyed hashes that rows are
 * looked up by and therefore never changes.
 */
export interface KeyringRow {
  use: 'data' | 'hash';
  term: number;
  key_sealed: Uint8Array;
  /** Unix seconds. */
  created_at: number;
}

/** The opened keys. Whoever holds one wipes it with {@link wipeKeyring}. */
export interface Keyring {
  root_key: Uint8Array;
  hash_key: Uint8Array;
  /** By term; old ones stay, since old values were sealed with them. */
  generations: ReadonlyMap<number, Generation>;
  /** The newest term, which new values are sealed with. */
  term: number;
}

interface Generation {
  key: Uint8Array;
  /** Unix seconds. */
  created_at: number;
}

/** Where a keyring row's key lives. */
function keyringPlace(row: Pick<KeyringRow, 'use' | 'term'>): EnvelopeContext {
  return { table: 'seal_key', column: 'key_sealed', row: `${row.use}/${row.term}` };
}

/** Random bytes that {@link wrapKeyringKey} takes: a key and a nonce. */
export const KEYRING_KEY_RANDOMNESS = KEY_LENGTH + 12;

/**
 * Makes a new key of the ring, wrapped for its row.
 *
 * @param input.random {@link KEYRING_KEY_RANDOMNESS} bytes; wiped here, since the key is among them
 */
export function wrapKeyringKey(input: {
  root_key: Uint8Array;
  use: KeyringRow['use'];
  term: number;
  random: Uint8Array;
  created_at: number;
}): KeyringRow {
  const { root_key, use, term, random, created_at } = input;
  if (random.length !== KEYRING_KEY_RANDOMNESS) throw new RangeError('a key and a nonce needed');
  const key_sealed = sealEnvelope({
    key: root_key,
    key_id: 0,
    nonce: random.subarray(KEY_LENGTH),
    place: keyringPlace({ use, term }),
    plaintext: random.subarray(0, KEY_LENGTH),
  });
  random.fill(0);
  return { use, term, key_sealed, created_at };
}

/**
 * Opens the stored keys with the root key.
 *
 * @param root_key becomes part of the keyring, and is wiped with it
 * @throws Error if a row does not open or one is missing: the database was changed by other
 *   hands, since the root key itself has been authenticated before
 */
export function openKeyring(root_key: Uint8Array, rows: readonly KeyringRow[]): Keyring {
  const generations = new Map<number, Generation>();
  let hash_key: Uint8Array | undefined;
  for (const row of rows) {
    const key = openEnvelope({ key: root_key, place: keyringPlace(row), sealed: row.key_sealed });
    if (key === undefined || key.length !== KEY_LENGTH) {
      throw new Error(`the stored key ${row.use}/${row.term} does not open with the root key`);
    }
    if (row.use === 'hash') hash_key = key;
    else generations.set(row.term, { key, created_at: row.created_at });
  }
  if (hash_key === undefined) throw new Error('the stored keyring has no hash key');
  const term = Math.max(0, ...generations.keys());
  if (term === 0) throw new Error('the stored keyring has no data key');
  return { root_key, hash_key, generations, term };
}

/** The same keys in memory of their own, which can be handed to another thread. */
export function copyKeyring({ root_key, hash_key, generations, term }: Keyring): Keyring {
  return {
    root_key: Uint8Array.from(root_key),
    hash_key: Uint8Array.from(hash_key),
    generations: new Map(
      [...generations].map(([number, { key, created_at }]) => [
        number,
        { key: Uint8Array.from(key), created_at },
      ]),
    ),
    term,
  };
}

/** The memory of its keys, to be handed on without leaving a copy behind. */
export const memoryOf = ({ root_key, hash_key, generations }: Keyring): ArrayBuffer[] =>
  [root_key, hash_key, ...[...generations.values()].map(({ key }) => key)]
    .map(({ buffer }) => buffer)
    .filter((memory) => memory instanceof ArrayBuffer);

/** The key that values of one purpose are sealed with in one generation. The caller wipes it. */
export function dataKey(generation: Generation, purpose: Purpose): Uint8Array {
  return derive(generation.key, `gatehouse data key: ${purpose}`);
}

/** The key of a purpose's keyed hashes. The caller wipes it. */
export function hashKey(keyring: Keyring, purpose: Purpose): Uint8Array {
  return derive(keyring.hash_key, `gatehouse hash key: ${purpose}`);
}

/** HKDF (RFC 5869) without salt: the input is uniformly random already. */
function derive(key: Uint8Array, info: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, new Uint8Array(), info, KEY_LENGTH));
}

/** Overwrites every key of the ring. It must not be used afterwards. */
export function wipeKeyring(keyring: Keyring): void {
  keyring.root_key.fill(0);
  keyring.hash_key.fill(0);
  for (const generation of keyring.generations.values()) generation.key.fill(0);
}
