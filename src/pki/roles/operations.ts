import { commitInTurn, type Planned } from '../../access/standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { Kept, textBytes } from '../../core/kept.ts';
import { listKeys } from '../../core/key-list.ts';
import { ROOMS } from '../../core/rooms.ts';
import { readMountState } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer } from '../mount-state/state.ts';
import { weighLists } from './compiled-rules.ts';
import { type PlannedRole, patchRole, planRole } from './plan.ts';
import { describeRole, namesIssuer, type Role, type RolePatch, warnOfIssuer } from './role.ts';
import { requireRoom } from './room.ts';
import {
  deleteRole,
  findStoredRole,
  listRoleNames,
  measureRole,
  type StoredRole,
  saveRole,
} from './store.ts';

type RoleAnswer = DataResult<ReturnType<typeof describeRole>>;

/** A role for the path of every issuance; kept between requests until configuration changes. */
export async function findCachedRole(
  app: App,
  mount_id: string,
  name: string,
): Promise<StoredRole | undefined> {
  const kept = await app.cached('pki/roles', async () => new Kept(ROOMS.pki_roles, weighFound, 1));
  const load = async () => ({ found: await findStoredRole(app.db, mount_id, name) });
  const key = `${mount_id}/${name}`;
  return (kept.find(key) ?? (await kept.get(key, load))).found;
}

/** The longest role of patterns that can be written is kept alone: to read it again takes long. */
const LARGEST = (3 / 4) * ROOMS.pki_roles;

/**
 * Bytes of a role's text, what was parsed from it, and its compiled rules. Names without a role are cached too:
 * whoever may issue by any role can ask for as many as they like.
 */
const weighFound = ({ found }: { found: StoredRole | undefined }): number =>
  found ? Math.min(LARGEST, 3 * textBytes(found.body) + weighLists(found.role)) : 0;

/** @throws Failure `invalid`, as issuance answers for a role that is not there */
export async function requireRole(app: App, caller: Caller, name: string): Promise<StoredRole> {
  const role = await findCachedRole(app, caller.mount.id, name);
  if (role) return role;
  throw invalid(`unknown role: ${name}`);
}

/** What is kept is as it is now where every write passes through this process. */
function findRoleNow(app: App, mount_id: string, name: string): Promise<StoredRole | undefined> {
  return app.store.engine === 'sqlite'
    ? findCachedRole(app, mount_id, name)
    : findStoredRole(app.db, mount_id, name);
}

export async function readRole(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<RoleAnswer> {
  const found = await findRoleNow(app, caller.mount.id, input.name);
  if (!found) throw new Failure('not_found', '');
  return { data: describeRole(found.role) };
}

/** Names in byte order, or one page of them. */
export function listRoles(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  return listKeys((page) => listRoleNames(app.db, { mount_id: caller.mount.id, ...page }), input);
}

/** Writes a role whole: what is left out falls to its default. */
export async function writeRole(
  app: App,
  caller: Caller,
  input: Role & { name: string },
): Promise<RoleAnswer> {
  const { name, ...fields } = input;
  const planned = planRole(fields);
  return keepRole(app, caller, { name, issuer_ref: fields.issuer_ref }, () => planned);
}

/** @see P-22 */
export async function updateRole(
  app: App,
  caller: Caller,
  input: RolePatch & { name: string },
): Promise<RoleAnswer> {
  const { name, ...patch } = input;
  return keepRole(app, caller, { name, issuer_ref: patch.issuer_ref }, (existing) => {
    if (existing) return patchRole(existing, patch);
    throw invalid(`Unable to fetch role entry to patch: no role ${name}`);
  });
}

/**
 * @param named.issuer_ref as it was sent
 * @param plan is told what there is now; called anew when that was changed before it is written
 */
async function keepRole(
  app: App,
  caller: Caller,
  { name, issuer_ref = '' }: { name: string; issuer_ref: string | undefined },
  plan: (existing: Role | undefined) => PlannedRole,
): Promise<RoleAnswer> {
  const mount_id = caller.mount.id;
  const ref = namesIssuer(issuer_ref) ? issuer_ref : '';
  await refuseDenied(caller, ownPaths(caller, 'issuer', { ref }));
  const planNow = async (): Promise<Planned<PlannedRole>> => {
    const issuer = findIssuer(await readMountState(app, mount_id), ref);
    await refuseDeniedNow(caller, ownPaths(caller, 'issuer', issuer));
    const read = await findStoredRole(app.db, mount_id, name);
    const planned = plan(read?.role);
    requireRoom(read?.role, planned.role);
    const effects = saveRole(mount_id, name, { read, role: planned.role });
    return { effects, result: planned, found: read !== undefined };
  };
  const key = `role ${mount_id} ${name}`;
  const bytes = await measureRole(app.db, { mount_id, name });
  const { role, warnings } = await commitInTurn(app, caller, planNow, {
    key,
    changes: true,
    bytes,
  });
  const known = findIssuer(await readMountState(app, mount_id), role.issuer_ref) !== undefined;
  return { data: describeRole(role), warnings: [...warnings, ...warnOfIssuer(role, known)] };
}

/** Removes a role; one that is not there is gone already. */
export async function removeRole(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<NothingResult> {
  await app.commit(caller, deleteRole(caller.mount.id, input.name));
  return {};
}
