import { deleteAsRead, holdAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import { PAGE } from '../../store/in-pages.ts';
import type { IdentityEntityRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type NamedRecord, nameKey } from './record.ts';

export const CHANGED = 'it was changed by somebody else in the meantime; read it again';

/** What a list shows of a record, and what it is ordered by. */
export interface Named {
  id: string;
  name: string;
  name_key: string;
}

export type RecordStore<One extends NamedRecord> = ReturnType<typeof recordStore<One>>;

/**
 * Where a kind of record is kept that has a name of its own.
 *
 * @param settings what is special to the kind, in the order in which it is kept
 */
export function recordStore<One extends NamedRecord>(
  table: 'identity_entity' | 'identity_group',
  kind: 'entity' | 'group',
  settings: readonly Exclude<keyof One, keyof NamedRecord>[],
) {
  const parse = ({ body, name_key: _key, ...row }: IdentityEntityRow): One => ({
    ...row,
    ...JSON.parse(body),
  });
  const rowOf = (one: One): IdentityEntityRow => {
    const { id, name, version, created_at_ms, updated_at_ms } = one;
    const body = JSON.stringify(Object.fromEntries(settings.map((field) => [field, one[field]])));
    return { id, name, version, created_at_ms, updated_at_ms, name_key: nameKey(name), body };
  };
  const find = async (db: Db, column: 'id' | 'name_key', value: string) => {
    const row = await db.selectFrom(table).selectAll().where(column, '=', value).executeTakeFirst();
    return row && parse(row);
  };
  return {
    kind,
    parse,
    findById: (db: Db, id: string): Promise<One | undefined> => find(db, 'id', id),
    findByName: (db: Db, name: string): Promise<One | undefined> =>
      find(db, 'name_key', nameKey(name)),

    /** In the order of their names, a page of them after the last one. */
    listNames: (db: Db, last: Named | undefined): Promise<Named[]> =>
      db
        .selectFrom(table)
        .select(['id', 'name', 'name_key'])
        .where('name_key', '>', last?.name_key ?? '')
        .orderBy('name_key')
        .limit(PAGE)
        .execute(),

    /** What some are called, by their ids, as far as they are there. */
    async findNames(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = await inBlocks(ids, (some) =>
        db.selectFrom(table).select(['id', 'name']).where('id', 'in', some).execute(),
      );
      return new Map(rows.map(({ id, name }) => [id, name]));
    },

    insert: (one: One): Write =>
      write(build.insertInto(table).values(rowOf(one)), {
        rows: 1,
        conflict: `${kind} name is already in use: ${one.name}`,
      }),

    /** @param one as read, with its new values; refused when its version is no longer that */
    update(one: One): Write {
      const { id, version, ...row } = rowOf(one);
      return write(
        build
          .updateTable(table)
          .set({ ...row, version: version + 1 })
          .where('id', '=', id)
          .where('version', '=', version),
        { rows: 1, conflict: CHANGED },
      );
    },

    /** Refuses its write set unless one still is what it was. */
    hold: ({ id, version }: Pick<NamedRecord, 'id' | 'version'>): Write =>
      holdAsRead(table, { key: { id }, read: { version } }, CHANGED),

    /**
     * Removes one that is still called what it was when it was read: it may have been found by its name. Its
     * aliases and members go with it; see also `deleteMemberships`.
     */
    delete: ({ id, name }: Pick<NamedRecord, 'id' | 'name'>): Write =>
      deleteAsRead(table, { key: { id }, read: { name } }, CHANGED),
  };
}
