import { BoundedMap } from '../core/bounded-map.ts';
import type { Value } from './write.ts';

/** Statements remembered: those of holds, and for each those that write something else. */
const STATEMENTS = 500;

/** Rows that one statement holds by turns, as those of several roles: no more are remembered. */
const ASKED = 8;

/** What holds of one statement have found. */
interface Found {
  sql: string;
  /** By what it was asked, and how many rows there are; none once that may be otherwise. */
  asked: { parameters: readonly Value[]; rows: number }[];
  /** Statements that leave as it is what this one looks at. */
  apart: Set<string>;
}

/**
 * What holds have found within one transaction. Its sets hold mostly the same rows: their mount, their token, their role.
 * That is not asked for again until something is written that a hold may look at; a write that cannot be told from such a
 * one counts as one.
 */
export class KeptHolds {
  readonly #found = new BoundedMap<Found>(STATEMENTS);
  readonly #triggered: ReadonlySet<string>;
  /** Those that something is known of. */
  #current: Found[] = [];

  /** @param triggered tables of which a write is followed by others */
  constructor(triggered: ReadonlySet<string>) {
    this.#triggered = triggered;
  }

  /** A transaction begins, or a part of it was undone: nothing is known. */
  forget(): void {
    // What they were asked by may be long, and is let go with that.
    for (const found of this.#current) found.asked = [];
    this.#current = [];
  }

  /** How many rows the hold has found; undefined: it is to be asked. */
  find(sql: string, parameters: readonly Value[]): number | undefined {
    const asked = this.#found.get(sql)?.asked;
    return asked?.find((one) => isSame(one.parameters, parameters))?.rows;
  }

  set(sql: string, parameters: readonly Value[], rows: number): void {
    const known = this.#found.get(sql);
    if (known && known.asked.length > 0) {
      if (known.asked.length >= ASKED) known.asked.shift();
      known.asked.push({ parameters, rows });
      return;
    }
    const apart = known && known.apart.size < STATEMENTS ? known.apart : new Set<string>();
    const found: Found = { sql, asked: [{ parameters, rows }], apart };
    this.#found.set(sql, found);
    this.#current.push(found);
  }

  /** Something was written by a statement. */
  note(sql: string): void {
    for (const found of this.#current) {
      if (found.apart.has(sql)) continue;
      if (!this.#isApart(sql, found.sql)) {
        this.forget();
        return;
      }
      found.apart.add(sql);
    }
  }

  #isApart(sql: string, hold: string): boolean {
    // Deletions go on to rows of other tables.
    const table = /^(?:insert into|update) "?(\w+)"?[ (]/.exec(sql)?.[1];
    return table !== undefined && !this.#triggered.has(table) && !hold.includes(table);
  }
}

const isSame = (some: readonly Value[], others: readonly Value[]): boolean =>
  some.length === others.length && some.every((value, at) => value === others[at]);
