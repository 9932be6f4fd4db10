import { endInTurn } from '../../access/endings/operations.ts';
import { expireOfMountBeforehand } from '../../access/leases/expiration.operations.ts';
import { expireLeasesOfMount } from '../../access/leases/store.ts';
import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { refuseDenied, refuseMadeNow } from '../../access/standing/operations.ts';
import { readerOfFields } from '../../acl/parameter-reader.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { fullPath, type Mount, type Place } from '../../app/mount.ts';
import type { DataResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { planMountPath, refusePathInUse, requireRemovable } from '../../mounts/rules.ts';
import {
  deleteRemountsBefore,
  findClash,
  findRemount,
  findStoredMount,
  holdPlace,
  insertRemount,
  saveMount,
} from '../../mounts/store.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { makingOf, pathsOfMount } from './as-made.ts';
import { mountFields, OLD_NAMES } from './fields.ts';
import { pagesOf } from './removal.operations.ts';

/** Moves a mount; its data belongs to its id and does not move. */
export async function remount(
  app: App,
  caller: Caller,
  input: { from: string; to: string },
): Promise<DataResult<{ migration_id: string }>> {
  // It goes from the one path and comes at the other: neither may be denied by itself.
  await refuseDenied(caller, [...pathsOfMount(input.from), ...pathsOfMount(input.to)]);
  const { source: moved } = await planMove(app, caller, input);
  const pages = pagesOf(app, caller);
  await endInTurn(app, moved.id, () => expireOfMountBeforehand(app, pages, moved.id));
  return commitPlanned<DataResult<{ migration_id: string }>>(app, caller, async () => {
    const { stored, source, next } = await planMove(app, caller, input);
    const id = app.newId();
    const moved_at = Math.floor(app.now() / 1000);
    const paths = { source: fullPath(source), target: fullPath(next) };
    return {
      effects: [
        saveMount(next, stored),
        // Their ids begin with the old path.
        expireLeasesOfMount(source.id, moved_at),
        deleteRemountsBefore(moved_at - REMEMBERED),
        insertRemount({ id, ...paths, status: 'success', moved_at }),
        ...bumpPermissionVersion(),
        holdPlace(next),
      ],
      result: {
        data: { migration_id: id },
        warnings: [
          'Mount migration has been queued. Progress will be reported in the server logs.',
        ],
      },
    };
  });
}

const reader = readerOfFields(mountFields, OLD_NAMES);

/** @throws Failure `invalid` for what is not there or not to be moved, and a path that it cannot have */
async function planMove(app: App, caller: Caller, input: { from: string; to: string }) {
  const stored = await findStoredMount(app.db, sourceOf(input.from));
  if (!stored) throw invalid(`no matching mount at "${input.from}"`);
  const source = stored.mount;
  requireRemovable(source);
  const next: Mount = { ...source, path: await planTarget(app, source, input.to) };
  // Whoever may not make such a mount there does not get one by moving.
  await refuseMadeNow(caller, { ...makingOf(next), reader });
  return { stored, source, next };
}

function sourceOf(from: string): Place {
  const path = `${from}/`;
  return path.startsWith('auth/')
    ? { kind: 'auth', path: path.slice('auth/'.length) }
    : { kind: 'secret', path };
}

/** @throws Failure `invalid` for a path that the mount cannot have */
async function planTarget(app: App, source: Mount, target: string): Promise<string> {
  if (source.kind === 'auth' && !target.startsWith('auth/')) {
    throw invalid(`cannot remount auth mount to non-auth mount "${target}/"`);
  }
  const wanted = source.kind === 'auth' ? target.slice('auth/'.length) : target;
  const { kind } = source;
  const clash = await findClash(app.db, { kind, path: `${wanted}/` }, source.path);
  if (clash === `${wanted}/`) throw invalid(`path already in use at "${target}/"`);
  const path = planMountPath(kind, wanted);
  if (clash !== undefined) throw refusePathInUse(clash);
  return path;
}

/** A move that is over can be asked about for a day; seconds. */
const REMEMBERED = 24 * 3600;

export async function readRemount(app: App, input: { id: string }) {
  const move = await findRemount(app.db, input.id);
  if (!move) throw new Failure('not_found', '');
  return {
    data: {
      migration_id: move.id,
      migration_info: { source_mount: move.source, target_mount: move.target, status: move.status },
    },
  };
}
