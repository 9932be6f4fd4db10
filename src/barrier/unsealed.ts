import type { GenerationUse } from './generation-use.ts';
import type { KeyedHash } from './keyed-hash.ts';
import { dataKey, type Keyring, type Purpose } from './keyring.ts';

/** The keys while they are usable, with those derived from them so far. */
export interface Unsealed {
  keyring: Keyring;
  /** By purpose and term. */
  dataKeys: Map<string, Uint8Array>;
  hashKeys: Map<Purpose, KeyedHash>;
  /** Of the newest generation. */
  newest: GenerationUse;
  /** Of the one that values are sealed with until all threads have the newest. */
  before: GenerationUse | undefined;
}

export type Uses = Pick<Unsealed, 'newest' | 'before'>;

/** What values are sealed with: a generation that all threads have. */
export const inUse = ({ newest, before }: Unsealed): GenerationUse =>
  before && !newest.hasBegun ? before : newest;

/** Undefined where the keyring has no such generation. */
export function dataKeyOf(
  unsealed: Unsealed,
  purpose: Purpose,
  term: number,
): Uint8Array | undefined {
  const id = `${purpose}/${term}`;
  const known = unsealed.dataKeys.get(id);
  if (known !== undefined) return known;
  const generation = unsealed.keyring.generations.get(term);
  if (generation === undefined) return undefined;
  const key = dataKey(generation, purpose);
  unsealed.dataKeys.set(id, key);
  return key;
}

/** Wipes what was derived from a keyring. */
export function forgetDerived(unsealed: Unsealed): void {
  for (const key of unsealed.dataKeys.values()) key.fill(0);
  for (const key of unsealed.hashKeys.values()) key.wipe();
  unsealed.dataKeys.clear();
  unsealed.hashKeys.clear();
}
