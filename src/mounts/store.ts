import { expressionBuilder, sql } from 'kysely';
import type { Mount, MountKind, Place } from '../app/mount.ts';
import { holdAsRead, saveAsRead } from '../store/as-read.ts';
import { build, type Db, prepared } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import { listInParts, PAGE } from '../store/in-pages.ts';
import type { MountRow, Tables } from '../store/tables.ts';
import { type Write, write } from '../store/write.ts';
import type { Size } from './room.ts';

// A mount is found by its path; its settings are read whole and kept as one JSON column.

type Body = Pick<
  Mount,
  'description' | 'local' | 'seal_wrap' | 'external_entropy_access' | 'options' | 'config'
>;

/** A mount as it was read; by the tag of its text a write set can tell that it still is the same. */
interface StoredMount {
  mount: Mount;
  body: string;
  body_tag: string;
}

const listMountsAfter = prepared((from, last: { kind: string; path: string }) =>
  from
    .selectFrom('mount')
    .selectAll()
    .where((row) =>
      row(row.refTuple('kind', 'path'), '>', row.tuple(row.val(last.kind), row.val(last.path))),
    )
    .orderBy('kind')
    .orderBy('path')
    .limit(PAGE),
);

/**
 * All mounts, each kind by its paths.
 *
 * @param known mounts as they were read before: one whose row is the same is not read again
 */
export function listMounts(
  db: Db,
  known: { get(id: string): Mount | undefined } = new Map(),
): Promise<Mount[]> {
  return listInParts<StoredRow, Mount>(
    (last) => listMountsAfter.some(db, { kind: last?.kind ?? '', path: last?.path ?? '' }, 'body'),
    (row) => {
      const before = known.get(row.id);
      return before?.path === row.path && tags.get(before) === row.body_tag ? before : mountOf(row);
    },
  );
}

/** The path of a mount that is at a path, within, or around it; one that moves is in nobody's way. */
export async function findClash(
  db: Db,
  { kind, path }: Place,
  moves_from?: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('mount as other')
    .select('other.path')
    .where('other.kind', '=', kind)
    .where('other.path', '<>', moves_from ?? '')
    .where(overlaps(path))
    .orderBy('other.path')
    .limit(1)
    .executeTakeFirst();
  return row?.path;
}

/** Is at a path, within, or around it. */
function overlaps(path: string) {
  const segments = path.split('/').slice(0, -1);
  const around = segments.map((_, at) => `${segments.slice(0, at + 1).join('/')}/`);
  // The character after the slash: all that begins with the path lies before it.
  const end = `${segments.join('/')}0`;
  const { or, and, eb } = expressionBuilder<{ other: MountRow }, 'other'>();
  return or([
    eb('other.path', 'in', around),
    and([eb('other.path', '>', path), eb('other.path', '<', end)]),
  ]);
}

/** The mount at a path, as it is now, whatever is cached. */
export async function findStoredMount(
  db: Db,
  { kind, path }: Place,
): Promise<StoredMount | undefined> {
  const row = await db
    .selectFrom('mount')
    .selectAll()
    .where('kind', '=', kind)
    .where('path', '=', path)
    .executeTakeFirst();
  return row && { mount: mountOf(row), body: row.body, body_tag: row.body_tag };
}

type StoredRow = MountRow & { body_tag: string };

/** Of the text that a mount was read from. */
const tags = new WeakMap<Mount, string>();

function mountOf({ body, body_tag, kind, ...keys }: StoredRow): Mount {
  const mount = { ...keys, kind: kind as MountKind, ...(JSON.parse(body) as Body) };
  tags.set(mount, body_tag);
  return mount;
}

/** The tag of a mount's settings, for write sets that rest on them; none if it was not read. */
export function settingsTagOf(mount: Mount): string | undefined {
  return tags.get(mount);
}

/** Refuses its write set unless a mount, as it was read, has the settings that it had. */
export function holdSettings(mount: Mount): Write[] {
  const body_tag = settingsTagOf(mount);
  if (body_tag === undefined) return [];
  const changed = 'the mount was tuned or removed in the meantime';
  return [holdAsRead('mount', { key: { id: mount.id }, read: { body_tag } }, changed)];
}

/** The text that a mount is stored as. */
export function bodyOf(mount: Mount): string {
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
export function saveMount(next: Mount, { mount: { path }, body_tag }: StoredMount): Write {
  const { id, kind, type, accessor } = next;
  return saveAsRead('mount', {
    key: { id },
    read: { path, body_tag },
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
            .where(overlaps(path)),
        ),
      ),
    );
  return write(alone, { rows: 1, conflict: `path is already in use at ${path}` });
}

const COUNT = sql<number>`count(*)`;
const BYTES = sql<number>`coalesce(sum(octet_length(body)), 0)`;

/** How many mounts of a kind there are, and the bytes of their settings. */
export async function measureMounts(db: Db, kind: MountKind): Promise<Size> {
  return db
    .selectFrom('mount')
    .select([COUNT.as('count'), BYTES.as('bytes')])
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow();
}

/**
 * Refuses its write set when there are too many mounts of a kind by it, or too long ones. It comes after
 * `bumpConfigVersion`.
 *
 * @param most what is not named may be as it is
 */
export function holdRoom(kind: MountKind, most: Partial<Size>): Write {
  const all = build.selectFrom('mount').select(COUNT.as('count')).where('kind', '=', kind);
  const few = most.count === undefined ? all : all.having(COUNT, '<=', most.count);
  const room = most.bytes === undefined ? few : few.having(BYTES, '<=', most.bytes);
  return write(room, { rows: 1, conflict: 'another mount took the last room' });
}

/** Removes a mount from the path that it was read at: it may have been moved since, or be gone. */
export function deleteMount({ id, path }: Pick<Mount, 'id' | 'path'>): Write {
  return write(build.deleteFrom('mount').where('id', '=', id).where('path', '=', path), {
    rows: 1,
    conflict: 'the mount was moved or removed in the meantime',
  });
}

export function insertRemount(move: Tables['remount']): Write {
  return write(build.insertInto('remount').values(move), { rows: 1 });
}

/** Forgets some of the moves before a time. */
export function deleteRemountsBefore(time: number): Write {
  const old = build.selectFrom('remount').select('id').where('moved_at', '<', time);
  return write(build.deleteFrom('remount').where('id', 'in', old.limit(FORGOTTEN_AT_ONCE)));
}

/** With each move one is added: so many go that older ones become fewer. */
const FORGOTTEN_AT_ONCE = 100;

export async function findRemount(db: Db, id: string) {
  return db.selectFrom('remount').selectAll().where('id', '=', id).executeTakeFirst();
}
