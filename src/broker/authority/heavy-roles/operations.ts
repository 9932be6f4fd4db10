import { type App, perApp } from '../../../app.ts';
import { Breath } from '../../../core/breath.ts';
import { LastOf } from '../../../core/kept.ts';
import { ROOMS } from '../../../core/rooms.ts';
import { Authority } from '../../grants/decision.ts';
import type { Seen } from '../../resources/by-ids/store.ts';
import type { GrantingRole } from '../roles/granting-role.ts';
import { isAsSeen, readSeen } from '../roles/operations.ts';

/** Somebody's roles together: up to here all are filed for each who has them. */
const LIGHT_TOGETHER = 64 << 10;
/** A role that takes less is filed with others. */
const HEAVY = 4 << 10;
/** Of more than so many the least are filed with others: each is asked whenever something is judged. */
const MOST_HEAVY = 512;

/**
 * Tells roles that grant much from others. A role has ten thousand people, and what it grants is as long as it
 * may be: filed for each of them it would take as much of each, and all their requests would make it anew.
 */
export async function splitByWeight(
  roles: readonly GrantingRole[],
): Promise<{ light: readonly GrantingRole[]; heavy: readonly Seen[] }> {
  const breath = new Breath();
  let bytes = 0;
  const large: GrantingRole[] = [];
  for (const role of roles) {
    bytes += role.bytes;
    if (role.bytes >= HEAVY) large.push(role);
    if (breath.isDue) await breath.take();
  }
  if (bytes <= LIGHT_TOGETHER || large.length === 0) return { light: roles, heavy: [] };
  // By id where they weigh the same: in the same order each time.
  large.sort((a, b) => b.bytes - a.bytes || (a.id < b.id ? -1 : 1));
  const heavy = new Set(large.slice(0, MOST_HEAVY));
  return {
    light: roles.filter((role) => !heavy.has(role)),
    heavy: [...heavy].map(({ id, version, updated_ms }) => ({ id, version, updated_ms })),
  };
}

/** What heavy roles grant, each filed once, in their order. */
export async function fileHeavy(app: App, heavy: readonly Seen[]): Promise<Authority[]> {
  const filed = filedOf(app);
  const found = new Map<string, Authority>();
  const missing: Seen[] = [];
  for (const seen of heavy) {
    const known = filed.find(seen.id);
    if (known && isAsSeen(seen, known.seen)) found.set(seen.id, known.authority);
    else missing.push(seen);
  }
  for (const role of missing.length > 0 ? await readSeen(app, missing) : []) {
    const { id, version, updated_ms } = role;
    const authority = await Authority.make('user', role.held);
    const bytes = role.bytes + authority.bytes;
    filed.set(id, { seen: { id, version, updated_ms }, authority, bytes });
    found.set(id, authority);
  }
  return heavy.flatMap(({ id }) => found.get(id) ?? []);
}

/** A role that was filed: it holds what was read of the role, which may be gone. */
interface Filed {
  seen: Seen;
  authority: Authority;
  bytes: number;
}

/** The last of them has room, however much it is: filed for each request it would take more. */
const filedOf = perApp(() => new LastOf<Filed>(ROOMS.broker_heavy_roles, ({ bytes }) => bytes, 1));
