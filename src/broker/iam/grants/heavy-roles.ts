import { hash } from 'node:crypto';
import { Breath } from '../../../core/fairness/breath.ts';
import { memoizeWeak } from '../../../core/memoize-weak.ts';
import type { Seen } from '../../resource/by-ids.store.ts';
import type { GrantingRole } from './granting-role.ts';

/** Up to so many bytes, all roles of a user are filed for that user. */
const LIGHT_TOGETHER = 64 << 10;
/** A smaller role is filed together with others. */
const HEAVY = 4 << 10;
/** Beyond so many, the smallest are filed together: each is asked whenever something is judged. */
const MOST_ALONE = 1536;

/** Roles that are filed once for all who have just these. */
export interface Pack {
  /** Changes when any of the roles does. */
  key: string;
  /** Ids of the roles in one text: there may be thousands. */
  ids: string;
}

/**
 * Tells roles that are filed for one user from those that are filed once for all. A long role may have ten thousand
 * users: filed for each of them it would take its size that many times, and their requests would file it over and
 * over. Thousands of small roles together would do the same.
 */
export async function splitByWeight(
  roles: readonly GrantingRole[],
): Promise<{ light: readonly GrantingRole[]; packs: readonly Pack[] }> {
  const breath = new Breath();
  let bytes = 0;
  const large: GrantingRole[] = [];
  const small: GrantingRole[] = [];
  for (const role of roles) {
    bytes += role.bytes;
    (role.bytes >= HEAVY ? large : small).push(role);
    if (breath.isDue) await breath.take();
  }
  if (bytes <= LIGHT_TOGETHER) return { light: roles, packs: [] };
  // By id where they take the same, so that the order is the same each time.
  large.sort((a, b) => b.bytes - a.bytes || compareIds(a, b));
  const packs = large.slice(0, MOST_ALONE).map(packOfOne);
  const rest = [...small, ...large.slice(MOST_ALONE)];
  if (rest.reduce((sum, role) => sum + role.bytes, 0) <= LIGHT_TOGETHER)
    return { light: rest, packs };
  // A pack of a single role serves all who have that role, whatever other roles they have.
  if (roles.length <= MOST_ALONE)
    return { light: [], packs: [...packs, ...rest.sort(compareIds).map(packOfOne)] };
  // Ids end in random characters: users who share most roles share most packs.
  const byLast = [...Map.groupBy(rest, ({ id }) => id.at(-1) ?? '')];
  for (const [, some] of byLast.sort(([a], [b]) => (a < b ? -1 : 1))) {
    packs.push(packOf(some.sort(compareIds)));
    await breath.take();
  }
  return { light: [], packs };
}

const compareIds = (a: Seen, b: Seen): number => (a.id < b.id ? -1 : 1);

function packOf(roles: readonly Seen[]): Pack {
  const versions = roles.map(({ id, version, updated_ms }) => `${id} ${version} ${updated_ms}`);
  return {
    key: hash('sha256', versions.join(), 'base64url'),
    ids: roles.map(({ id }) => id).join(),
  };
}

/** The same for all who have the role as it was read: each of them holds hundreds. */
const packOfOne = memoizeWeak(({ id, version, updated_ms }: Seen): Pack => {
  return { key: `${id} ${version} ${updated_ms}`, ids: id };
});

/** Ids of the roles in some packs, each once. */
export const idsOfPacks = (packs: readonly Pack[]): string[] => [
  ...new Set(packs.flatMap(({ ids }) => ids.split(','))),
];

const PACK_BYTES = 256;
/** Of one that others hold as well. */
const SHARED_BYTES = 24;

/** About how many bytes a pack takes, without what is filed of its roles. */
export const weighPack = ({ ids }: Pack): number =>
  ids.includes(',') ? PACK_BYTES + ids.length : SHARED_BYTES;
