import { Client } from 'pg';
import type { ChainHead } from '../audit/chain.ts';
import { Failure } from '../core/failure.ts';
import {
  type Batch,
  type BatchResult,
  type BatchWriter,
  guardRefusal,
  type LogDetail,
  type Refusal,
  refuseAll,
} from './batch.ts';
import { bumpsConfigVersion, READ_CONFIG_VERSION } from './config-version.ts';
import { isDeletion } from './holding.ts';
import {
  Pipeline,
  type PipelineResult,
  PreparedNames,
  type ServerError,
  type Step,
} from './pipeline.ts';
import { RecordsLost, readHead, requireKept } from './postgres-head.ts';
import { migratePostgres } from './postgres-migration.ts';
import { type Plan, planSteps } from './postgres-plan.ts';
import { BY_INDEX, isStatementError, lockKey, sessionConfig } from './postgres-session.ts';
import { isAuditEntry, type Write } from './write.ts';

/** The channel on which nodes tell each other that configuration has changed. */
export const CONFIG_CHANNEL = 'gatehouse_config';

/** How long a batch is tried again when other nodes are in its way. */
const RETRY_MS = 5_000;
/** So long a batch of sets that take too long is written in ever smaller parts. */
const APART_MS = 45_000;

/**
 * How often a row that cannot be deleted is tried again. What refers to it was made in the moment of
 * the deletion, and is seen by the next attempt; what is seen and still refers to it will not go.
 */
const DELETE_ATTEMPTS = 8;

/** Longer than any batch takes; then the connection is given up and its outcome is unknown. */
const PIPELINE_TIMEOUT_MS = 20_000;

/** How long a node's name may still be held by a process that is just ending. */
const NAME_WAIT_MS = 2_000;

/** How long not to try after the database could not be reached. */
const RECONNECT_MS = 500;

// One round trip: nothing here waits for us for long, and nothing of ours for others.
// A short lock_timeout takes the place of the server's deadlock detection, which waits a
// second: two nodes that wait for each other both give up soon, and try again apart.
const SESSION_SETTINGS = `
  set default_transaction_isolation = 'read committed';
  set default_transaction_read_only = off;
  set lock_timeout = '250ms';
  set statement_timeout = '15s';
  set idle_in_transaction_session_timeout = '10s';
  set bytea_output = 'hex';
  ${BY_INDEX}
  set tcp_keepalives_idle = 10;
  set tcp_keepalives_interval = 5;
  set tcp_keepalives_count = 3;
  select set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') = 'off'`;

/** What to do about a batch none of whose sets was written; `apart`: together they took too long. */
type Next = 'retry' | 'reconnect' | 'apart' | 'give_up';

/** What ended an attempt at a batch, for all of its sets. */
class Interrupted extends Error {
  readonly next: Next;

  constructor(next: Next, cause: Error) {
    super(cause.message, { cause });
    this.next = next;
  }
}

/** A row was not deleted since another node has just made something that refers to it. */
class StillReferred extends Interrupted {
  readonly refusal: Refusal;

  constructor(cause: Error, { conflict }: Write) {
    super('retry', cause);
    this.refusal = { kind: 'conflict', message: conflict ?? 'something still refers to it' };
  }
}

interface Session {
  client: Client;
  names: PreparedNames;
  /** The last record of this node's audit chain that is durable. */
  head: ChainHead;
}

type Say = (level: 'info' | 'warn' | 'error', message: string, detail: LogDetail) => void;

/**
 * The one connection of a node that writes. A batch takes two round trips: all of its
 * statements, then the commit. When one of them is refused the batch is rolled back and
 * done again with a savepoint for each set.
 */
export class PostgresWriter implements BatchWriter {
  readonly #url: string;
  readonly #node: string;
  readonly #say: Say;
  /** Of the batch that is under way. */
  #apartUntil = 0;
  #session: Session | undefined;
  /** The server's process of the last session, 0 before the first. */
  #pid = 0;
  #nextTry_ms = 0;
  /** The last record that was seen to be durable, in whatever session. */
  #durable: ChainHead | undefined;

  private constructor(url: string, node: string, say: Say) {
    this.#url = url;
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
        if (next === 'retry' && (await rolledBack(session))) {
          // Fewer locks at once are in fewer others' way.
          if (attempt > 1 && batch.length > 1) return this.#runHalves(deadline, batch);
          await pause(Math.random() * Math.min(5 * 2 ** attempt, 200));
          continue;
        }
        this.#disconnect();
        if (next === 'apart') {
          return batch.length > 1 ? this.#runApart(batch) : refuseAll(batch, TOO_LONG);
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

  async #runHalves(deadline: number, batch: Batch): Promise<BatchResult> {
    const middle = batch.length >> 1;
    const first = await this.#runUntil(deadline, batch.slice(0, middle));
    const second = await this.#runUntil(deadline, batch.slice(middle));
    return { ...first, ...second, outcomes: [...first.outcomes, ...second.outcomes] };
  }

  /** A part of a batch, with a time of its own: others wait for all of its parts. */
  async #runAnew(batch: Batch): Promise<BatchResult> {
    const now = performance.now();
    if (now < this.#apartUntil) return this.#runUntil(now + RETRY_MS, batch);
    return refuseAll(batch, unavailable('the database is too busy'));
  }

  /** In two batches, each with a time of its own. */
  async #runApart(batch: Batch): Promise<BatchResult> {
    const middle = batch.length >> 1;
    const first = await this.#runAnew(batch.slice(0, middle));
    const second = await this.#runAnew(batch.slice(middle));
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
    const plan = planSteps(this.#node, session.head, batch);
    const bumps = batch.some(bumpsConfigVersion);
    const result = await run(session, [BEGIN, ...plan.steps, ...(bumps ? ANNOUNCE : [])]);
    if (result.error === undefined && plan.judge(result.done.slice(1)) === undefined) {
      await commit(session);
      this.#durable = session.head = plan.head;
      return bumps
        ? { outcomes: plan.outcomes, ...versionIn(result) }
        : { outcomes: plan.outcomes };
    }
    const refusal = this.#refusalOf(plan, result, 1);
    await run(session, [ROLLBACK]);
    if (batch.length === 1) return { outcomes: [refusal] };
    if (refusal !== TOO_LONG) return this.#attemptEach(session, batch);
    return this.#runWithout(batch, setOf(batch, result.done.length - 1));
  }

  /** As {@link #attempt}, a round trip for each set. */
  async #attemptEach(session: Session, batch: Batch): Promise<BatchResult> {
    const outcomes: (Refusal | null)[] = [];
    let head = session.head;
    let bumps = false;
    let before: readonly Step[] = [BEGIN];
    for (const set of batch) {
      const plan = planSteps(this.#node, head, [set]);
      const result = await run(session, [...before, SAVEPOINT, ...plan.steps]);
      const lead = before.length + 1;
      if (result.error === undefined && plan.judge(result.done.slice(lead)) === undefined) {
        outcomes.push(null);
        head = plan.head;
        bumps ||= bumpsConfigVersion(set);
        before = [RELEASE];
      } else {
        outcomes.push(this.#refusalOf(plan, result, lead));
        before = [ROLLBACK_TO, RELEASE];
      }
    }
    const last = await run(session, [...before, ...(bumps ? ANNOUNCE : [])]);
    if (last.error !== undefined) throw new Interrupted('give_up', last.error);
    await commit(session);
    this.#durable = session.head = head;
    return bumps ? { outcomes, ...versionIn(last) } : { outcomes };
  }

  /**
   * Why a set was refused.
   *
   * @param lead how many steps came before those of the plan
   * @throws Interrupted when it is not the set that is at fault
   */
  #refusalOf(plan: Plan, result: PipelineResult, lead: number): Refusal {
    if (result.error === undefined) {
      return plan.judge(result.done.slice(lead)) ?? guardRefusal(undefined);
    }
    const write = plan.writes[result.done.length - lead];
    if (write !== undefined && result.error.code === QUERY_CANCELED) return TOO_LONG;
    if (write === undefined || !isStatementError(result.error)) throw interruption(result.error);
    // Not the caller's mistake: who deletes cannot know what is being made.
    if (result.error.code === FOREIGN_KEY && isDeletion(write.sql)) {
      throw new StillReferred(result.error, write);
    }
    return refusalOf(result.error, write);
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
    const client = new Client(sessionConfig(this.#url, `committer ${this.#node}`));
    // A broken connection shows in the pipeline that meets it.
    client.on('error', () => {
      if (this.#session?.client === client) this.#session = undefined;
    });
    try {
      await client.connect();
      await client.query(SESSION_SETTINGS);
      await this.#takeName(client);
      const head = await readHead(client, this.#node);
      await requireKept(client, this.#node, { durable: this.#durable, head });
      this.#durable = head;
      return { client, names: new PreparedNames(), head };
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }

  /**
   * Makes sure that nobody else writes under this node's name: its audit chain has one end.
   * The lock is the session's, so a former session of our own has to be gone as well, and
   * with it the last batch whose outcome we do not know.
   */
  async #takeName(client: Client): Promise<void> {
    const key = lockKey(`node ${this.#node}`);
    const deadline = performance.now() + NAME_WAIT_MS;
    for (;;) {
      const { rows } = await client.query<{ taken: boolean; pid: number }>(
        'select pg_try_advisory_lock($1) as taken, pg_backend_pid() as pid',
        [key],
      );
      if (rows[0]?.taken) {
        this.#pid = rows[0].pid;
        return;
      }
      if (performance.now() > deadline) {
        throw new Failure(
          'unavailable',
          `another process runs as node "${this.#node}": give each node a name of its own`,
        );
      }
      // The server may not have noticed yet that our last connection has gone.
      await client.query(
        `select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and objsubid = 1 and pid = $2
            and (classid::bigint << 32) | objid::bigint = $1::bigint`,
        [key, this.#pid],
      );
      await pause(100);
    }
  }

  #disconnect(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.client.end().catch(() => {});
  }
}

const BEGIN: Step = { sql: 'begin', parameters: [] };
const COMMIT: Step = { sql: 'commit', parameters: [] };
const ROLLBACK: Step = { sql: 'rollback', parameters: [] };
const SAVEPOINT: Step = { sql: 'savepoint write_set', parameters: [] };
const RELEASE: Step = { sql: 'release write_set', parameters: [] };
const ROLLBACK_TO: Step = { sql: 'rollback to write_set', parameters: [] };

/** Tells the other nodes at commit, and ourselves the version; the last of a pipeline. */
const ANNOUNCE: readonly Step[] = [
  { sql: `select pg_notify('${CONFIG_CHANNEL}', '')`, parameters: [] },
  { sql: READ_CONFIG_VERSION, parameters: [] },
];

function versionIn(result: PipelineResult): { config_version: number } {
  return { config_version: Number(result.done.at(-1)?.value) };
}

/** @throws Interrupted when the connection is lost or does not answer */
async function run(session: Session, steps: readonly Step[]): Promise<PipelineResult> {
  const pipeline = new Pipeline(steps, session.names);
  let next: Next = 'reconnect';
  const timer = setTimeout(() => {
    next = 'apart';
    session.client.end().catch(() => {});
  }, PIPELINE_TIMEOUT_MS);
  try {
    session.client.query(pipeline);
    return await pipeline.result;
  } catch (error) {
    throw new Interrupted(next, error instanceof Error ? error : new Error(String(error)));
  } finally {
    clearTimeout(timer);
  }
}

/** Leaves the transaction so that the session can be used again. */
async function rolledBack(session: Session): Promise<boolean> {
  return run(session, [ROLLBACK]).then(
    ({ error }) => error === undefined,
    () => false,
  );
}

/**
 * @throws Interrupted that gives up when the connection is lost: once the commit is sent, nobody
 *   knows whether it was done. One that was refused was not done, and may be tried again.
 */
async function commit(session: Session): Promise<void> {
  const { done, error } = await run(session, [COMMIT]).catch((lost: Interrupted) => {
    throw new Interrupted('give_up', lost);
  });
  if (error !== undefined) throw interruption(error);
  // A transaction that has failed answers `ROLLBACK` to a commit, which is no error.
  if (done[0]?.tag !== 'COMMIT') {
    throw new Interrupted('give_up', new Error('the transaction was rolled back'));
  }
}

/** SQLSTATEs after which the same batch may well succeed. */
const PASSING = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available: lock_timeout
]);

const FOREIGN_KEY = '23503'; // foreign_key_violation
/** program_limit_exceeded: a row of an index, here. */
const TOO_LARGE = '54000';
const QUERY_CANCELED = '57014'; // query_canceled: statement_timeout, or an administrator

/** Of one set alone: whatever else was in its batch is written. */
const TOO_LONG: Refusal = unavailable('the database took too long over this write');

/** Which set of a batch a write belongs to, by its place among all of their writes. */
function setOf(batch: Batch, write: number): number {
  let before = 0;
  return batch.findIndex((set) => {
    before += set.filter((effect) => !isAuditEntry(effect)).length;
    return write < before;
  });
}

function interruption(error: ServerError): Interrupted {
  return new Interrupted(PASSING.has(error.code) ? 'retry' : 'give_up', error);
}

function refusalOf(error: ServerError, write: Write): Refusal {
  switch (error.code) {
    case '23505': {
      // `Key (mount_id, name)=(…) already exists.`: the names are for people to read, and
      // the values stay here.
      const columns = error.detail?.match(/^Key \(([^)]*)\)=/)?.[1] ?? error.constraint ?? '';
      const message = write.conflict ?? `it exists already: ${error.table ?? ''} (${columns})`;
      return { kind: 'conflict', message };
    }
    case FOREIGN_KEY:
      return {
        kind: 'conflict',
        message: write.conflict ?? 'something it refers to does not exist any more',
      };
    case TOO_LARGE:
      return { kind: 'invalid', message: 'a name or path is too long: at most 2,600 bytes' };
    default:
      return { kind: 'bug', message: `${error.message} (${error.code})` };
  }
}

function unavailable(message: string): Refusal {
  return { kind: 'unavailable', message };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
