import { planUnlock, readLockedNames } from '../../../access/auth/lockout/operations.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { DataResult, NothingResult } from '../../../app/output.ts';
import { Failure } from '../../../core/failure.ts';
import { foldName } from '../../../core/fold.ts';
import { findMountByAccessor, findMountById } from '../../../mounts/operations.ts';
import { findResource } from '../../resource/store.ts';
import { type LockedUser, summariseLocked } from './locked-users.ts';

/** Who is locked, of all methods or of one. */
export async function listLockedUsers(
  app: App,
  _caller: Caller,
  { mount_accessor }: { mount_accessor: string },
): Promise<DataResult<ReturnType<typeof summariseLocked>>> {
  const wanted = mount_accessor === '' ? undefined : await requireMethod(app, mount_accessor);
  const names = await readLockedNames(app, wanted);
  const locked: LockedUser[] = [];
  for (const { method_id, name } of names) {
    const mount = await findMountById(app, method_id);
    locked.push({ accessor: mount?.accessor ?? method_id, name });
  }
  return { data: summariseLocked(locked) };
}

/** Forgets the failures of a name before their time is over. */
export async function unlockUser(
  app: App,
  caller: Caller,
  input: { mount_accessor: string; alias_identifier: string },
): Promise<NothingResult> {
  const method_id = await requireMethod(app, input.mount_accessor);
  // Names of either kind of method are lower case where they are looked up.
  const name = foldName(input.alias_identifier);
  await app.commit(caller, [planUnlock(app, { method_id, name })]);
  return {};
}

/** What the failures of a method are kept under: an auth mount's by its accessor, or an auth method. */
async function requireMethod(app: App, accessor: string): Promise<string> {
  const mount = await findMountByAccessor(app, accessor);
  if (mount?.kind === 'auth') return mount.id;
  const method = await findResource(app.db, accessor);
  if (method?.type === 'auth-method') return method.id;
  throw new Failure('invalid', `no auth mount and no auth method has accessor "${accessor}"`);
}
