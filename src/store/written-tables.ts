import { isHold } from './holding.ts';
import { type Effect, isAuditEntry } from './write.ts';

/** Statements of which it is remembered what they write. */
const MOST_STATEMENTS = 1000;

/** Finds which of some tables statements write. */
export class WrittenTables<Table extends string> {
  readonly #tables: readonly { table: Table; names: RegExp; onlyChanges: boolean }[];
  readonly #known = new Map<string, readonly Table[]>();

  /** @param only_changes those of them to which rows may be added without being written */
  constructor(tables: readonly Table[], only_changes: readonly Table[] = []) {
    this.#tables = tables.map((table) => ({
      table,
      names: new RegExp(`\\b${table}\\b`),
      onlyChanges: only_changes.includes(table),
    }));
  }

  /** Of a batch, those too of which nothing was written in the end. */
  of(batch: readonly (readonly Effect[])[]): Set<Table> {
    const tables = new Set<Table>();
    for (const set of batch) {
      for (const effect of set) {
        if (isAuditEntry(effect)) continue;
        for (const table of this.#writtenBy(effect.sql)) tables.add(table);
      }
    }
    return tables;
  }

  #writtenBy(sql: string): readonly Table[] {
    const known = this.#known.get(sql);
    if (known) return known;
    if (this.#known.size >= MOST_STATEMENTS) this.#known.clear();
    const adds = isAddition(sql);
    const written = isHold(sql)
      ? []
      : this.#tables.flatMap(({ table, names, onlyChanges }) =>
          names.test(sql) && !(adds && onlyChanges) ? table : [],
        );
    this.#known.set(sql, written);
    return written;
  }
}

/** Whether a statement leaves all rows that are there as they are. */
const isAddition = (sql: string): boolean =>
  sql.startsWith('insert ') && !sql.includes(' do update ');
