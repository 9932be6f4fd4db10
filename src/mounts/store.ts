import { build, type Db } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import { type Write, write } from '../store/write.ts';
import type { Mount, MountConfig, MountKind } from './mount.ts';

// A mount is found by its path; its settings are read whole and kept as one JSON column.

interface Body {
  description: string;
  local: boolean;
  seal_wrap: boolean;
  external_entropy_access: boolean;
  options: Record<string, string> | null;
  config: MountConfig;
}

export async function listMounts(db: Db): Promise<Mount[]> {
  const rows = await db.selectFrom('mount').selectAll().orderBy('path').execute();
  return rows.map(({ body, kind, ...keys }) => ({
    ...keys,
    kind: kind as MountKind,
    ...(JSON.parse(body) as Body),
  }));
}

function bodyOf(mount: Mount): string {
  const { description, local, seal_wrap, external_entropy_access, options, config } = mount;
  return JSON.stringify({
    description,
    local,
    seal_wrap,
    external_entropy_access,
    options,
    config,
  } satisfies Record<keyof Body, unknown>);
}

export function insertMount(mount: Mount): Write {
  const { id, kind, path, type, accessor } = mount;
  return write(
    build.insertInto('mount').values({ id, kind, path, type, accessor, body: bodyOf(mount) }),
    { rows: 1, conflict: `path is already in use at ${path}` },
  );
}

/** Refuses its write set unless a mount is there, wherever it was moved to. */
export const holdMount = preparedHold<{ id: string }>(
  (from, { id }) => from.selectFrom('mount').select('id').where('id', '=', id).forKeyShare(),
  { rows: 1, conflict: 'the mount was removed in the meantime' },
);

/** As {@link holdMount}, by the mount's accessor. */
export const holdAccessor = preparedHold<{ mount_accessor: string }>(
  (from, { mount_accessor }) =>
    from.selectFrom('mount').select('id').where('accessor', '=', mount_accessor).forKeyShare(),
  { rows: 1, conflict: 'the mount was removed in the meantime' },
);

/** @param from the path that it was read at: it may have been moved since, or be gone */
export function saveMount(mount: Mount, from: string): Write {
  return write(
    build
      .updateTable('mount')
      .set({ path: mount.path, body: bodyOf(mount) })
      .where('id', '=', mount.id)
      .where('path', '=', from),
    {
      rows: 1,
      conflict: `path is already in use at ${mount.path}, or the mount was moved meanwhile`,
    },
  );
}

export function deleteMount(id: string): Write {
  return write(build.deleteFrom('mount').where('id', '=', id));
}

export function insertRemount(move: {
  id: string;
  source: string;
  target: string;
  status: string;
}): Write {
  return write(build.insertInto('remount').values(move), { rows: 1 });
}

export async function findRemount(db: Db, id: string) {
  return db.selectFrom('remount').selectAll().where('id', '=', id).executeTakeFirst();
}
