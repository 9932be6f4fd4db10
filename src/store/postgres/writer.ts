import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../core/failure.ts';
import type { ChainHead } from '../../core/record-chain.ts';
import {
  type Batch,
  type BatchResult,
  type BatchWriter,
  type LogDetail,
  refuseAll,
} from '../batch.ts';
import { bumpsConfigVersion } from '../config-version.ts';
import type { Step } from '../pipeline.ts';
import { planApart, ROLLBACK_TO } from './apart.ts';
import { RecordsLost } from './head.ts';
import { migratePostgres } from './migration.ts';
import { planRecords, planSteps } from './plan.ts';
import { Interrupted, refusalOf, StillReferred, TOO_LONG, unavailable } from './refusal.ts';
import {
  ANNOUNCE,
  BEGIN,
  commit,
  ROLLBACK,
  rolledBack,
  run,
  runGroups,
  type Session,
  versionIn,
} from './transaction.ts';
import { WritingSessions } from './writing-sessions.ts';

/** How long a batch is tried again when other nodes are in its way. */
const RETRY_MS = 5_000;
/** So long a batch of sets that take too long is written in ever smaller parts. */
const APART_MS = 45_000;

/**
 * How often a row that cannot be deleted is tried again. What refers to it was made in the moment of
 * the deletion, and is seen by the next attempt; what is seen and still refers to it will not go.
 */
const DELETE_ATTEMPTS = 8;

/** How long not to try after the database could not be reached. */
const RECONNECT_MS = 500;

type Say = (level: 'info' | 'warn' | 'error', message: string, detail: LogDetail) => void;

/**
 * The one connection of a node that writes. A batch takes two round trips: all of its
 * statements, then the commit. When one of them is refused the batch is rolled back and
 * done again with a savepoint for each set, in two more.
 */
export class PostgresWriter implements BatchWriter {
  readonly #node: string;
  readonly #sessions: WritingSessions;
  readonly #say: Say;
  /** Of the batch that is under way. */
  #apartUntil = 0;
  /** Whether a set of the last batch of several was refused. */
  #refusedLast = false;
  #session: Session | undefined;
  #nextTry_ms = 0;
  /** The last record that was seen to be durable, in whatever session. */
  #durable: ChainHead | undefined;

  private constructor(url: string, node: string, say: Say) {
    this.#sessions = new WritingSessions(url, node);
    this.#node = node;
    this.#say = say;
  }

  /**
   * Connects and brings the schema up to date; nodes that start together take turns.
   *
   * @throws Failure `unavailable` when it cannot, with one line for the operator
   */
  static async open(url: string, node: string, say: Say): Promise<PostgresWriter> {
    const writer = new PostgresWriter(url, node, say);
    try {
      await migratePostgres(url);
      writer.#session = await writer.#connect();
    } catch (error) {
      if (error instanceof Failure) throw error;
      const message = `the database cannot be opened: ${messageOf(error)}`;
      throw new Failure('unavailable', message, { cause: error });
    }
    return writer;
  }

  run(batch: Batch): Promise<BatchResult> {
    this.#apartUntil = performance.now() + APART_MS;
    return this.#runAnew(batch);
  }

  async close(): Promise<void> {
    await this.#session?.client.end();
  }

  async #runUntil(deadline: number, batch: Batch): Promise<BatchResult> {
    let reconnected = false;
    for (let attempt = 1; ; attempt += 1) {
      if (performance.now() > deadline)
        return refuseAll(batch, unavailable('the database is too busy'));
      let session: Session;
      try {
        session = await this.#requireSession();
      } catch {
        return refuseAll(batch, unavailable('the database cannot be reached'));
      }
      try {
        return await this.#attempt(session, batch);
      } catch (error) {
        const next = error instanceof Interrupted ? error.next : 'give_up';
        if (error instanceof StillReferred && batch.length === 1 && attempt >= DELETE_ATTEMPTS) {
          if (await rolledBack(session)) return refuseAll(batch, error.refusal);
        }
        if (next === 'retry') {
          // Nothing of it was written, also where the connection was given up.
          if (!(await rolledBack(session))) this.#disconnect();
          // Fewer locks at once are in fewer others' way.
          if (attempt > 1 && batch.length > 1) {
            return this.#runHalves(batch, (half) => this.#runUntil(deadline, half));
          }
          await pause(Math.random() * Math.min(5 * 2 ** attempt, 200));
          continue;
        }
        this.#disconnect();
        if (next === 'apart') {
          if (batch.length === 1) return refuseAll(batch, TOO_LONG);
          // Each with a time of its own.
          return this.#runHalves(batch, (half) => this.#runAnew(half));
        }
        if (next === 'reconnect' && !reconnected) {
          reconnected = true;
          continue;
        }
        this.#say('warn', 'the database did not take a batch', { why: messageOf(error) });
        return refuseAll(batch, unavailable('the database did not confirm the write'));
      }
    }
  }

  /** A part of a batch, with a time of its own: others wait for all of its parts. */
  async #runAnew(batch: Batch): Promise<BatchResult> {
    const now = performance.now();
    if (now < this.#apartUntil) return this.#runUntil(now + RETRY_MS, batch);
    return refuseAll(batch, unavailable('the database is too busy'));
  }

  async #runHalves(
    batch: Batch,
    runHalf: (half: Batch) => Promise<BatchResult>,
  ): Promise<BatchResult> {
    const middle = batch.length >> 1;
    const first = await runHalf(batch.slice(0, middle));
    const second = await runHalf(batch.slice(middle));
    return { ...first, ...second, outcomes: [...first.outcomes, ...second.outcomes] };
  }

  /** Those that were in a batch with a set that took too long are written without it. */
  async #runWithout(batch: Batch, at: number): Promise<BatchResult> {
    const others = batch.toSpliced(at, 1);
    const result: BatchResult =
      others.length === 0 ? { outcomes: [] } : await this.#runAnew(others);
    return { ...result, outcomes: result.outcomes.toSpliced(at, 0, TOO_LONG) };
  }

  /** @throws Interrupted when no set of the batch is known to be durable */
  async #attempt(session: Session, batch: Batch): Promise<BatchResult> {
    if (this.#refusedLast && batch.length > 1) return this.#attemptApart(session, batch, [BEGIN]);
    const plan = planSteps(this.#node, session.head, batch, session.holds);
    const bumps = batch.some(bumpsConfigVersion);
    const result = await run(session, [BEGIN, ...plan.steps, ...(bumps ? ANNOUNCE : [])]);
    const { done, error } = result;
    // A write that fails behind a guard that does not hold often fails for that: the guard is told.
    const refusal =
      plan.judge(done.slice(1)) ?? (error && refusalOf(plan.writes, { done, error }, 1));
    if (!refusal) {
      await commit(session);
      this.#durable = session.head = plan.head;
      return { outcomes: plan.outcomes, ...(bumps && versionIn(result)) };
    }
    if (batch.length > 1 && refusal !== TOO_LONG) {
      return this.#attemptApart(session, batch, [ROLLBACK, BEGIN]);
    }
    await run(session, [ROLLBACK]);
    if (batch.length === 1) return { outcomes: [refusal] };
    return this.#runWithout(batch, plan.sets[done.length - 1] ?? 0);
  }

  /**
   * As {@link #attempt}, in two round trips however many sets are refused. Whoever has one refused mostly has more:
   * the next batch begins in this way, until none is.
   */
  async #attemptApart(
    session: Session,
    batch: Batch,
    begin: readonly Step[],
  ): Promise<BatchResult> {
    this.#refusedLast = false;
    const apart = planApart(begin, batch);
    const outcomes = apart.judge(await runGroups(session, apart.groups));
    const written = batch.filter((_, at) => outcomes[at] === null);
    const bumps = written.some(bumpsConfigVersion);
    const records = planRecords(this.#node, session.head, written);
    const last = [ROLLBACK_TO, ...records.steps, ...(bumps ? ANNOUNCE : [])];
    const result = await commit(session, last);
    this.#durable = session.head = records.head;
    this.#refusedLast = written.length < batch.length;
    return { outcomes, ...(bumps && versionIn(result)) };
  }

  /** @throws Error when the database cannot be reached; then for a moment without trying */
  async #requireSession(): Promise<Session> {
    if (this.#session !== undefined) return this.#session;
    if (performance.now() < this.#nextTry_ms)
      throw new Error('it could not be reached a moment ago');
    try {
      this.#session = await this.#connect();
      return this.#session;
    } catch (error) {
      // The thread ends, and with it the process.
      if (error instanceof RecordsLost) setImmediate(() => Promise.reject(error));
      this.#nextTry_ms = performance.now() + RECONNECT_MS;
      this.#say('warn', 'the database cannot be reached', { why: messageOf(error) });
      throw error;
    }
  }

  async #connect(): Promise<Session> {
    const session = await this.#sessions.open(this.#durable, (client) => {
      // A broken connection shows in the pipeline that meets it.
      if (this.#session?.client === client) this.#session = undefined;
    });
    this.#durable = session.head;
    return session;
  }

  #disconnect(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.client.end().catch(() => {});
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
