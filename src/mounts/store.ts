import { saveAsRead } from '../store/as-read.ts';
import { build, type Db } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import type { MountRow } from '../store/tables.ts';
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

/** A mount as it was read; by its text a write set can tell that it still is the same. */
export interface StoredMount {
  mount: Mount;
  body: string;
}

export async function listMounts(db: Db): Promise<Mount[]> {
  const rows = await db.selectFrom('mount').selectAll().orderBy('path').execute();
  return rows.map(mountOf);
}

/** Paths of all mounts of a kind, each with its trailing slash. */
export async function listMountPaths(db: Db, kind: MountKind): Promise<string[]> {
  const query = db.selectFrom('mount').select('path').where('kind', '=', kind).orderBy('path');
  return (await query.execute()).map(({ path }) => path);
}

/** The mount at a path, as it is now, whatever is cached. */
export async function findStoredMount(
  db: Db,
  { kind, path }: Pick<Mount, 'kind' | 'path'>,
): Promise<StoredMount | undefined> {
  const row = await db
    .selectFrom('mount')
    .selectAll()
    .where('kind', '=', kind)
    .where('path', '=', path)
    .executeTakeFirst();
  return row && { mount: mountOf(row), body: row.body };
}

/** The text that a mount was read from. */
const texts = new WeakMap<Mount, string>();

function mountOf({ body, kind, ...keys }: MountRow): Mount {
  const mount = { ...keys, kind: kind as MountKind, ...(JSON.parse(body) as Body) };
  texts.set(mount, body);
  return mount;
}

/** What the row of a mount says, for write sets that rest on its settings; none if it was not read. */
export function storedTextOf(mount: Mount): string | undefined {
  return texts.get(mount);
}

const holdBody = preparedHold<{ id: string; body: string }>(
  (from, { id, body }) =>
    from.selectFrom('mount').select('id').where('id', '=', id).where('body', '=', body).forShare(),
  { rows: 1, conflict: 'the mount was tuned or removed in the meantime' },
);

/** Refuses its write set unless a mount, as it was read, has the settings that it had. */
export function holdSettings(mount: Mount): Write[] {
  const body = storedTextOf(mount);
  return body === undefined ? [] : [holdBody({ id: mount.id, body })];
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

/** Writes a mount whole, unless it was moved, changed or removed since it was read. */
export function saveMount(next: Mount, { mount: { path }, body }: StoredMount): Write {
  const { id, kind, type, accessor } = next;
  return saveAsRead('mount', {
    key: { id },
    read: { path, body },
    next: { kind, path: next.path, type, accessor, body: bodyOf(next) },
  });
}

/**
 * Refuses its write set if a mount lies in another one of its kind, or around one.
 *
 * It comes after `bumpConfigVersion`: whoever makes or moves a mount takes that row, so that the
 * second of two sees here what the first has done.
 */
export function holdPlace({ id, kind, path }: Mount): Write {
  const segments = path.split('/').slice(0, -1);
  const around = segments.map((_, at) => `${segments.slice(0, at + 1).join('/')}/`);
  // The character after the slash: all that begins with the path lies before it.
  const end = `${segments.join('/')}0`;
  const alone = build
    .selectFrom('mount')
    .select('mount.id')
    .where('mount.id', '=', id)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('mount as other')
            .select('other.id')
            .where('other.kind', '=', kind)
            .where('other.id', '<>', id)
            .where(({ or, and, eb }) =>
              or([
                eb('other.path', 'in', around),
                and([eb('other.path', '>', path), eb('other.path', '<', end)]),
              ]),
            ),
        ),
      ),
    );
  return write(alone, { rows: 1, conflict: `path is already in use at ${path}` });
}

/** Removes a mount from the path that it was read at: it may have been moved since, or be gone. */
export function deleteMount({ id, path }: Pick<Mount, 'id' | 'path'>): Write {
  return write(build.deleteFrom('mount').where('id', '=', id).where('path', '=', path), {
    rows: 1,
    conflict: 'the mount was moved or removed in the meantime',
  });
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
