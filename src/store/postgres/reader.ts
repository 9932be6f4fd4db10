import { Pool } from 'pg';
import { Failure } from '../../core/failure.ts';
import { doShared } from '../../core/fairness/asking.ts';
import { nextBreath } from '../../core/fairness/breath.ts';
import { NetworkPlaces } from '../../core/fairness/network-places.ts';
import { scarceHeap } from '../../core/fairness/scarce-heap.ts';
import type { StoreLog } from '../committer.ts';
import { MOST_BYTES, type Reader, type Some } from '../database.ts';
import { LongOfLate } from '../long-of-late.ts';
import { noteLong } from '../long-reads.ts';
import { isKept, isServerError } from '../pipeline.ts';
import type { Value } from '../write.ts';
import { BY_INDEX, CONNECT_TIMEOUT_MS, clientOf, isStatementError } from './session.ts';

/** Texts that are prepared by name on each connection; those that come later are not. */
const STATEMENTS = 500;

/** Reads that are most likely long go on at the same time, of all networks. */
const FEW = 3;

/** "cached plan must not change result type": a migration has changed the table since. */
const FEATURE_NOT_SUPPORTED = '0A000';

/**
 * Reads over a pool of connections that cannot write. The pool has who comes first go first; more reads
 * than it has connections therefore wait here, where it is by turns.
 */
export class PostgresReader implements Reader {
  readonly #pool: Pool;
  readonly #places: NetworkPlaces;
  /** For those that were long of late: the other connections are left to all that is short. */
  readonly #fewPlaces = new NetworkPlaces(FEW);
  readonly #longOfLate = new LongOfLate();
  readonly #names = new Map<string, string>();

  constructor(url: string, connections: number, log: StoreLog) {
    this.#places = new NetworkPlaces(connections);
    this.#pool = new Pool({
      Client: clientOf(url, 'reader'),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      max: connections,
      onConnect: async (client) => {
        await client.query(
          `set default_transaction_read_only = on; set statement_timeout = '30s'; set bytea_output = 'hex'; ${BY_INDEX}`,
        );
      },
    });
    // An idle connection that breaks is replaced at the next read; without a listener it
    // would end the process.
    this.#pool.on('error', (error) => log.warn({ why: error.message }, 'a connection was lost'));
  }

  async all(sql: string, parameters: readonly Value[]): Promise<unknown[]> {
    const { rows, isLong } = await this.#read(sql, parameters);
    if (isLong) await scarceHeap.pass();
    return rows;
  }

  async #read(sql: string, parameters: readonly Value[]) {
    const giveBackFew = this.#longOfLate.has(sql) ? await this.#fewPlaces.take() : undefined;
    // Whose turn comes is given the connection of whoever is through.
    const giveBack = await this.#places.take();
    try {
      const name = isKept({ parameters }) ? this.#nameOf(sql) : undefined;
      const rows = await this.#query(name, sql, parameters);
      // Those of all connections may come in one turn of the event loop, and each goes on with its own.
      const isLong = noteLong(rows);
      if (isLong) {
        this.#longOfLate.note(sql);
        // Others wait for the connection.
        await doShared(nextBreath);
      }
      return { rows, isLong };
    } catch (error) {
      if (isStatementError(error)) throw error;
      throw new Failure('unavailable', 'the database cannot be read', { cause: error });
    } finally {
      giveBack();
      giveBackFew?.();
    }
  }

  async first(sql: string, parameters: readonly Value[]): Promise<unknown> {
    const [row] = await this.all(sql, parameters);
    return row;
  }

  async some(
    sql: string,
    parameters: readonly Value[],
    columns: readonly string[],
  ): Promise<Some<unknown>> {
    const found = await this.all(untilBytes(sql, columns), parameters);
    const rows: unknown[] = [];
    let bytes = 0;
    for (const row of found) {
      const { read_before, read_here, ...others } = row as Record<string, unknown>;
      bytes = Number(read_before) + Number(read_here);
      rows.push(others);
    }
    return { rows, bytes, more: bytes >= MOST_BYTES };
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #query(
    name: string | undefined,
    sql: string,
    parameters: readonly Value[],
  ): Promise<object[]> {
    const values = [...parameters];
    if (name === undefined) return (await this.#pool.query(sql, values)).rows;
    try {
      return (await this.#pool.query({ name, text: sql, values })).rows;
    } catch (error) {
      if (!isServerError(error) || error.code !== FEATURE_NOT_SUPPORTED) throw error;
      return this.#query(undefined, sql, parameters);
    }
  }

  #nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined || this.#names.size >= STATEMENTS) return known;
    const name = `r${this.#names.size}`;
    this.#names.set(sql, name);
    return name;
  }
}

/** A length is known of a text without reading it, and what comes after so many bytes is never sent. */
export function untilBytes(sql: string, columns: readonly string[]): string {
  const length = columns
    .map((column) => `coalesce(octet_length(asked."${column}"), 0)`)
    .join(' + ');
  return `select * from (
    select asked.*, ${length} as read_here,
      sum(${length}) over (rows unbounded preceding) - (${length}) as read_before
    from (${sql}) as asked) as counted where read_before < ${MOST_BYTES}`;
}
