import { isHold } from './holding.ts';
import { type Effect, isAuditEntry } from './write.ts';

/** Somebody who keeps rows of a table. */
interface WriteListener {
  names: RegExp;
  listener(): void;
}

/** Statements of which it is remembered whom they concern. */
const MOST_STATEMENTS = 1000;

/** Those who keep rows of tables, told of what was written to them. */
export class WriteListeners {
  #listeners: WriteListener[] = [];
  /** By statement: who keeps rows of a table that it changes. */
  readonly #concerned = new Map<string, readonly WriteListener[]>();

  /** See `Store.onWrite`. */
  add(table: string, listener: () => void): void {
    this.#listeners.push({ names: new RegExp(`\\b${table}\\b`), listener });
    this.#concerned.clear();
  }

  /** Each of those that some write of the batch concerns is told once. */
  tell(batch: readonly { readonly effects: readonly Effect[] }[]): void {
    const told = new Set<WriteListener>();
    for (const { effects } of batch) {
      for (const effect of effects) {
        if (isAuditEntry(effect)) continue;
        for (const concerned of this.#concernedBy(effect.sql)) told.add(concerned);
      }
    }
    for (const { listener } of told) listener();
  }

  #concernedBy(sql: string): readonly WriteListener[] {
    const known = this.#concerned.get(sql);
    if (known) return known;
    if (this.#concerned.size >= MOST_STATEMENTS) this.#concerned.clear();
    const concerned = isHold(sql) ? [] : this.#listeners.filter(({ names }) => names.test(sql));
    this.#concerned.set(sql, concerned);
    return concerned;
  }
}
