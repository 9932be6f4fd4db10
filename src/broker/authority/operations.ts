import { type App, perApp } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Kept } from '../../core/kept.ts';
import { ANONYMOUS_USER, AUTHENTICATED_USER, RECOVERY_USER } from '../caller.ts';
import { Authority } from '../grants/decision.ts';
import { fillTemplates, parseGrant } from '../grants/grant.ts';
import type { HeldGrant } from '../grants/reach.ts';
import type { Asker } from '../grants/sorted.ts';
import { listLinks } from '../links/store.ts';
import type { Resource } from '../resource.ts';
import { listResourcesById, listVersions, type Seen } from '../resources/store.ts';
import type { RoleBody } from '../roles/role.ts';

/** A role as grants are looked up: what it grants where. */
interface GrantingRole extends Seen {
  held: readonly HeldGrant[];
}

interface RoleIndex {
  /** Roles by the principal they name. */
  byPrincipal: ReadonlyMap<string, readonly GrantingRole[]>;
  /** Groups by the user in them. */
  groupsOf: ReadonlyMap<string, readonly string[]>;
}

/**
 * What a user is allowed: through nobody's and everybody's roles, their own and their groups'.
 *
 * @param principals further ones that hold for this log-in: managed groups of the account
 */
export async function readAuthority(
  app: App,
  user: { user_id: string; account_id: string; principals?: readonly string[] },
): Promise<Authority> {
  if (user.user_id === RECOVERY_USER) return new Authority('recovery', []);
  const { user_id, account_id, principals = [] } = user;
  const kept = await app.cached('broker/authorities', async () => new Kept(MOST_BYTES, weigh));
  const key = `${user_id}/${account_id}/${principals.join(',')}`;
  return kept.get(key, () => makeAuthority(app, { user_id, account_id, principals }));
}

/** What is kept of what users are allowed: one role may be some megabytes for each who has it. */
const MOST_BYTES = 64 << 20;

const weigh = ({ size: { grants, ids } }: Authority): number =>
  AUTHORITY_BYTES + grants * GRANT_BYTES + ids * ID_BYTES;

const AUTHORITY_BYTES = 2048;
/** A grant as it is filed for the types that it is about, and a single id that it names. */
const GRANT_BYTES = 1024;
const ID_BYTES = 300;

async function makeAuthority(
  app: App,
  user: { user_id: string; account_id: string; principals: readonly string[] },
): Promise<Authority> {
  const { user_id, account_id, principals } = user;
  const index = await readRoleIndex(app);
  const asker: Asker = user_id === ANONYMOUS_USER ? 'anonymous' : 'user';
  const names =
    asker === 'anonymous'
      ? [ANONYMOUS_USER]
      : [
          ANONYMOUS_USER,
          AUTHENTICATED_USER,
          user_id,
          ...(index.groupsOf.get(user_id) ?? []),
          ...principals,
        ];
  const roles = new Set(names.flatMap((name) => index.byPrincipal.get(name) ?? []));
  const held: HeldGrant[] = [];
  const breath = new Breath();
  for (const role of roles) {
    for (const one of role.held) {
      const grant = fillTemplates(one.grant, { user_id, account_id });
      if (grant) held.push(grant === one.grant ? one : { ...one, grant });
    }
    await breath.take();
  }
  return new Authority(asker, held);
}

/** The roles as they were read last, whole: of thousands few change at a time. */
const knownRolesOf = perApp(() => ({ byId: new Map<string, GrantingRole>() }));

function readRoleIndex(app: App): Promise<RoleIndex> {
  return app.cached('broker/roles', async () => {
    const [roles, principals, members] = await Promise.all([
      readRoles(app),
      listLinks(app.db, 'role-principal'),
      listLinks(app.db, 'group-member'),
    ]);
    const byPrincipal = new Map<string, GrantingRole[]>();
    const breath = new Breath();
    for (const { from_id, to_id } of principals) {
      const role = roles.get(from_id);
      if (!role) continue;
      const known = byPrincipal.get(to_id);
      if (known) known.push(role);
      else byPrincipal.set(to_id, [role]);
      await breath.take();
    }
    return { byPrincipal, groupsOf: await groupsOf(members) };
  });
}

/** Roles that are read, with their grants, before others get their turn: some are 250 kB long. */
const ROLES_AT_ONCE = 16;

async function readRoles(app: App): Promise<ReadonlyMap<string, GrantingRole>> {
  const known = knownRolesOf(app);
  const before = known.byId;
  const roles = new Map<string, GrantingRole>();
  const unknown: string[] = [];
  const breath = new Breath();
  for (const seen of await listVersions(app.db, 'role')) {
    const role = before.get(seen.id);
    if (role?.version === seen.version && role.updated_ms === seen.updated_ms) {
      roles.set(seen.id, role);
    } else unknown.push(seen.id);
    await breath.take();
  }
  for (let at = 0; at < unknown.length; at += ROLES_AT_ONCE) {
    for (const role of await listResourcesById(app.db, unknown.slice(at, at + ROLES_AT_ONCE))) {
      roles.set(role.id, readGrants(role));
      await breath.take();
    }
    await breath.take();
  }
  known.byId = roles;
  return roles;
}

function readGrants({ id, version, updated_ms, scope_id, body }: Resource): GrantingRole {
  const { grant_strings, grant_scope_ids } = body as RoleBody;
  const held = grant_strings.flatMap((text): HeldGrant[] => {
    const reading = parseGrant(text);
    return reading.valid
      ? [{ grant: reading.grant, role_id: id, role_scope_id: scope_id, grant_scope_ids }]
      : [];
  });
  return { id, version, updated_ms, held };
}

/** Groups by the user in them. */
async function groupsOf(
  members: readonly { from_id: string; to_id: string }[],
): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>();
  const breath = new Breath();
  for (const { from_id, to_id } of members) {
    const known = groups.get(to_id);
    if (known) known.push(from_id);
    else groups.set(to_id, [from_id]);
    await breath.take();
  }
  return groups;
}
