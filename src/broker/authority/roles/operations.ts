import { type App, perApp } from '../../../app.ts';
import { Breath } from '../../../core/breath.ts';
import { LastOf } from '../../../core/kept.ts';
import { ROOMS } from '../../../core/rooms.ts';
import { listLinks } from '../../links/store.ts';
import { listResourcesById, listVersions, type Seen } from '../../resources/store.ts';
import { type GrantingRole, readGrants } from './granting-role.ts';

interface RoleIndex {
  /** Roles by the principal they name. */
  byPrincipal: ReadonlyMap<string, readonly Seen[]>;
  /** Groups by the user in them. */
  groupsOf: ReadonlyMap<string, readonly string[]>;
}

/** Who has which role; what the roles grant is read when somebody comes who has them. */
export function readRoleIndex(app: App): Promise<RoleIndex> {
  return app.cached('broker/roles', async () => {
    const [versions, principals, members] = await Promise.all([
      listVersions(app.db, 'role'),
      listLinks(app.db, 'role-principal'),
      listLinks(app.db, 'group-member'),
    ]);
    const byId = new Map(versions.map((seen) => [seen.id, seen]));
    const byPrincipal = await gather(principals, ({ to_id, from_id }) => [
      to_id,
      byId.get(from_id),
    ]);
    const groupsOf = await gather(members, ({ to_id, from_id }) => [to_id, from_id]);
    return { byPrincipal, groupsOf };
  });
}

/** Values by key, each once as it comes. */
async function gather<Link, Value>(
  links: readonly Link[],
  entryOf: (link: Link) => [key: string, value: Value | undefined],
): Promise<Map<string, Value[]>> {
  const gathered = new Map<string, Value[]>();
  const breath = new Breath();
  for (const link of links) {
    const [key, value] = entryOf(link);
    if (value === undefined) continue;
    const known = gathered.get(key);
    if (known) known.push(value);
    else gathered.set(key, [value]);
    await breath.take();
  }
  return gathered;
}

/** The roles that some principals have, each once. */
export async function readRolesOf(
  app: App,
  { byPrincipal }: RoleIndex,
  principals: readonly string[],
): Promise<GrantingRole[]> {
  const seen = new Set(principals.flatMap((id) => byPrincipal.get(id) ?? []));
  const known = knownRolesOf(app);
  const roles: GrantingRole[] = [];
  const unknown: Seen[] = [];
  for (const one of seen) {
    const role = known.find(one);
    if (role) roles.push(role);
    else unknown.push(one);
  }
  return unknown.length === 0 ? roles : [...roles, ...(await known.load(app, unknown))];
}

/** The roles as they were read last, of those that fit: of thousands few change at a time. */
class KnownRoles {
  readonly #kept = new LastOf<GrantingRole>(ROOMS.broker_roles, ({ bytes }) => bytes);
  #loading: Promise<unknown> = Promise.resolve();

  find({ id, version, updated_ms }: Seen): GrantingRole | undefined {
    const role = this.#kept.find(id);
    return role?.version === version && role.updated_ms === updated_ms ? role : undefined;
  }

  /** One at a time: who comes with the same roles finds them read. */
  load(app: App, wanted: readonly Seen[]): Promise<GrantingRole[]> {
    const loading = this.#loading.then(() => this.#read(app, wanted));
    this.#loading = loading.catch(() => undefined);
    return loading;
  }

  async #read(app: App, wanted: readonly Seen[]): Promise<GrantingRole[]> {
    const roles: GrantingRole[] = [];
    const breath = new Breath();
    const unknown: string[] = [];
    for (const seen of wanted) {
      const role = this.find(seen);
      if (role) roles.push(role);
      else unknown.push(seen.id);
    }
    for (let at = 0; at < unknown.length; at += ROLES_AT_ONCE) {
      for (const found of await listResourcesById(app.db, unknown.slice(at, at + ROLES_AT_ONCE))) {
        const role = readGrants(found);
        this.#kept.set(role.id, role);
        roles.push(role);
        await breath.take();
      }
      await breath.take();
    }
    return roles;
  }
}

/** Roles that are read, with their grants, before others get their turn: some are 250 kB long. */
const ROLES_AT_ONCE = 16;

const knownRolesOf = perApp(() => new KnownRoles());
