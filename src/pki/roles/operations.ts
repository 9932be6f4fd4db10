import type { Caller } from '../../access/caller.ts';
import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Answer } from '../../http/route.ts';
import { findIssuer } from '../authority/authority.ts';
import { readAuthority } from '../authority/operations.ts';
import {
  describeRole,
  type PlannedRole,
  patchRole,
  planRole,
  type Role,
  type RolePatch,
  warnOfIssuer,
} from './role.ts';
import {
  deleteRole,
  findRole,
  findStoredRole,
  listRoleNames,
  type StoredRole,
  saveRole,
} from './store.ts';

type RoleAnswer = Answer<ReturnType<typeof describeRole>>;

/** A role for the path of every issuance; kept between requests until configuration changes. */
export function findCachedRole(
  app: App,
  mount_id: string,
  name: string,
): Promise<StoredRole | undefined> {
  return app.cached(`pki/role/${mount_id}/${name}`, () => findStoredRole(app.db, mount_id, name));
}

/** @throws Failure `invalid`, as issuance answers for a role that is not there */
export async function requireRole(app: App, caller: Caller, name: string): Promise<StoredRole> {
  const role = await findCachedRole(app, caller.mount.id, name);
  if (role) return role;
  throw new Failure('invalid', `unknown role: ${name}`);
}

export async function readRole(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<RoleAnswer> {
  const role = await findRole(app.db, caller.mount.id, input.name);
  if (!role) throw new Failure('not_found', '');
  return { data: describeRole(role) };
}

export async function listRoles(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
): Promise<Answer<{ keys: string[] }>> {
  const page = { after: input.after ?? '', limit: listLimit(input.limit) };
  const keys = await listRoleNames(app.db, caller.mount.id, page);
  if (keys.length === 0) throw new Failure('not_found', '');
  return { data: { keys } };
}

function listLimit(limit: number | undefined): number {
  return limit === undefined || limit <= 0 ? Number.MAX_SAFE_INTEGER : limit;
}

/** Writes a role whole: what is left out falls to its default. */
export async function writeRole(
  app: App,
  caller: Caller,
  input: Role & { name: string },
): Promise<RoleAnswer> {
  const { name, ...fields } = input;
  return keepRole(app, caller, name, planRole(fields));
}

export async function updateRole(
  app: App,
  caller: Caller,
  input: RolePatch & { name: string },
): Promise<RoleAnswer> {
  const { name, ...patch } = input;
  const existing = await findRole(app.db, caller.mount.id, name);
  if (!existing)
    throw new Failure('invalid', `Unable to fetch role entry to patch: no role ${name}`);
  return keepRole(app, caller, name, patchRole(existing, patch));
}

async function keepRole(
  app: App,
  caller: Caller,
  name: string,
  planned: PlannedRole,
): Promise<RoleAnswer> {
  const { role, warnings } = planned;
  const authority = await readAuthority(app, caller.mount.id);
  const known = findIssuer(authority, role.issuer_ref) !== undefined;
  await app.commit(caller, saveRole(caller.mount.id, name, role));
  return { data: describeRole(role), warnings: [...warnings, ...warnOfIssuer(role, known)] };
}

/** Removes a role; one that is not there is gone already. */
export async function removeRole(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<Answer<null>> {
  await app.commit(caller, deleteRole(caller.mount.id, input.name));
  return {};
}
