import { type App, perApp } from '../../../app/app.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { FewInTurn } from '../../../core/fairness/few-in-turn.ts';
import { Kept, LastOf } from '../../../core/kept.ts';
import { ROOMS } from '../../../core/rooms.ts';
import { listResourcesById, type Seen } from '../../resource/by-ids.store.ts';
import { GrantSet } from '../../resource/grants/decision.ts';
import type { EffectiveGrant } from '../../resource/grants/reach.ts';
import { isOf } from '../../resource/handler.ts';
import { roleDefinition } from '../roles/operations.ts';
import {
  type GrantingRole,
  type ReadGrant,
  readGrant,
  readGrants,
  weighGrant,
} from './granting-role.ts';
import { idsOfPacks, type Pack } from './heavy-roles.ts';
import { listGroupsOf, listRolesById, listRolesOf } from './store.ts';

/** Ids of the groups that a user is in: a role of theirs is the user's. */
export function listGroups(app: App, user_id: string): Promise<string[]> {
  return listGroupsOf(app.db, user_id);
}

/** The roles that some principals have, as little as tells whether one knows them. */
export function listSeen(app: App, principals: readonly string[]): Promise<Seen[]> {
  return listRolesOf(app.db, principals);
}

/** Whether nothing of a role has changed since it was seen. */
export const isAsSeen = (seen: Seen, now: Seen | undefined): boolean =>
  now?.id === seen.id && now.version === seen.version && now.updated_ms === seen.updated_ms;

/**
 * What roles grant, of those that are still there.
 *
 * @param before as they were read by somebody who keeps them
 */
export async function readSeen(
  app: App,
  seen: readonly Seen[],
  before: ReadonlyMap<string, GrantingRole> = new Map(),
): Promise<GrantingRole[]> {
  const known = knownRolesOf(app);
  const roles: GrantingRole[] = [];
  const unknown: Seen[] = [];
  const breath = new Breath();
  for (const one of seen) {
    const last = before.get(one.id);
    const role = isAsSeen(one, last) ? last : known.find(one);
    if (role) roles.push(role);
    else unknown.push(one);
    if (breath.isDue) await breath.take();
  }
  return unknown.length === 0 ? roles : [...roles, ...(await known.load(app, unknown))];
}

/** The roles that some principals have, each once. */
export async function readRolesOf(
  app: App,
  principals: readonly string[],
): Promise<GrantingRole[]> {
  return readSeen(app, await listSeen(app, principals));
}

/** The roles as they were read last, of those that fit: of thousands few change at a time. */
class KnownRoles {
  readonly #kept = new LastOf<GrantingRole>(ROOMS.broker_roles, ({ bytes }) => bytes);
  readonly #grants = new LastOf<ReadGrant>(ROOMS.broker_grants, weighGrant);
  readonly #loading = new FewInTurn(1);

  find(seen: Seen): GrantingRole | undefined {
    const role = this.#kept.find(seen.id);
    return isAsSeen(seen, role) ? role : undefined;
  }

  /** One at a time: who comes with the same roles finds them read. Whoever waits does so by network and address. */
  load(app: App, wanted: readonly Seen[]): Promise<GrantingRole[]> {
    return this.#loading.run(() => this.#read(app, wanted));
  }

  async #read(app: App, wanted: readonly Seen[]): Promise<GrantingRole[]> {
    const roles: GrantingRole[] = [];
    const breath = new Breath();
    const unknown: string[] = [];
    for (const seen of wanted) {
      const role = this.find(seen);
      if (role) roles.push(role);
      else unknown.push(seen.id);
      if (breath.isDue) await breath.take();
    }
    for (let at = 0; at < unknown.length; at += ROLES_AT_ONCE) {
      for (const found of await listResourcesById(app.db, unknown.slice(at, at + ROLES_AT_ONCE))) {
        if (!isOf(roleDefinition, found)) continue;
        const role = readGrants(found, (text) => this.#grantOf(text));
        this.#kept.set(role.id, role);
        roles.push(role);
        await breath.take();
      }
      await breath.take();
    }
    return roles;
  }

  /** The same for the same text: each project brings a role that grants what those of all others do. */
  #grantOf(text: string): ReadGrant | undefined {
    const known = this.#grants.find(text);
    if (known) return known;
    const found = readGrant(text);
    if (found) this.#grants.set(text, found);
    return found;
  }
}

/** Roles that are read, with their grants, before others get their turn: some are 250 kB long. */
const ROLES_AT_ONCE = 16;

const knownRolesOf = perApp(() => new KnownRoles());

/** What the roles of packs grant, each filed once, in their order. */
export function filePacks(
  app: App,
  asker: 'user' | 'anonymous',
  packs: readonly Pack[],
): Promise<GrantSet[]> {
  const byKey = new Map(packs.map((pack) => [`${asker} ${pack.key}`, pack]));
  return filedOf(app).getAll([...byKey.keys()], async (keys) => {
    const missing = keys.flatMap((key) => byKey.get(key) ?? []);
    const seen = await listRolesById(app.db, idsOfPacks(missing));
    const roles = new Map((await readSeen(app, seen)).map((role) => [role.id, role]));
    const filed = new Map<Pack, GrantSet>();
    for (const pack of missing) {
      // Who has gone meanwhile grants nothing.
      const some = pack.ids.split(',').flatMap((id) => roles.get(id) ?? []);
      filed.set(pack, await fileRoles(asker, some));
    }
    return (key) => {
      const pack = byKey.get(key);
      return (pack && filed.get(pack)) ?? NOTHING;
    };
  });
}

const NOTHING = new GrantSet('user', []);

async function fileRoles(
  asker: 'user' | 'anonymous',
  roles: readonly GrantingRole[],
): Promise<GrantSet> {
  const grants = await GrantSet.make(asker, await holdGrants(roles));
  await grants.fileNamed();
  return grants;
}

/** Filed packs, as many as fit; one alone may take all the room: filed again for each request it would take more. */
const filedOf = perApp(() => new Kept<GrantSet>(ROOMS.broker_heavy_roles, ({ bytes }) => bytes, 1));

export async function holdGrants(roles: readonly GrantingRole[]): Promise<EffectiveGrant[]> {
  const all: EffectiveGrant[] = [];
  const breath = new Breath();
  for (const { held } of roles) {
    for (const one of held) all.push(one);
    if (breath.isDue) await breath.take();
  }
  return all;
}
