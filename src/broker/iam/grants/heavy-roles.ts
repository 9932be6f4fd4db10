import { hash } from 'node:crypto';
import { Breath } from '../../../core/fairness/breath.ts';
import { memoizeWeak } from '../../../core/memoize-weak.ts';
import type { Seen } from '../../resource/by-ids.store.ts';
import type { GrantingRole } from './granting-role.ts';

/** Somebody's roles together: up to here all are filed for each who has them. */
const LIGHT_TOGETHER = 64 << 10;
/** A role that takes less is filed with others. */
const HEAVY = 4 << 10;
/** Of more than so many the least are filed with others: each is asked whenever something is judged. */
const MOST_ALONE = 1536;

/** Roles that are filed once for all who have just these. */
export interface Pack {
  /** Another one when any of them is another. */
  key: string;
  /** In one text: there may be thousands. */
  ids: string;
}

/**
 * Tells roles that are filed for one user from those that are filed once for all. A role has ten thousand people,
 * and what it grants is as long as it may be: filed for each of them it would take as much of each, and all their
 * requests would make it anew; so would thousands of small ones together.
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
  // By id where they weigh the same: in the same order each time.
  large.sort((a, b) => b.bytes - a.bytes || compareIds(a, b));
  const packs = large.slice(0, MOST_ALONE).map(packOfOne);
  const rest = [...small, ...large.slice(MOST_ALONE)];
  if (rest.reduce((sum, role) => sum + role.bytes, 0) <= LIGHT_TOGETHER)
    return { light: rest, packs };
  // One by one they are the same for all, whatever other roles each of them has: what was filed of one serves many.
  if (roles.length <= MOST_ALONE)
    return { light: [], packs: [...packs, ...rest.sort(compareIds).map(packOfOne)] };
  // An id is of letters and digits by chance: of what most users of a role have in common most packs are the same.
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
