import { guardRefusal, type Refusal } from '../batch.ts';
import { isDeletion, isHold } from '../holding.ts';
import type { PipelineResult, ServerError } from '../pipeline.ts';
import type { Write } from '../write.ts';
import { isStatementError } from './session.ts';

// What an error of PostgreSQL means for a write set, or for all of its batch.

/** What to do about a batch none of whose sets was written; `apart`: together they took too long. */
export type Next = 'retry' | 'reconnect' | 'apart' | 'give_up';

/** What ended an attempt at a batch, for all of its sets. */
export class Interrupted extends Error {
  readonly next: Next;

  constructor(next: Next, cause: Error) {
    super(cause.message, { cause });
    this.next = next;
  }
}

/** A row was not deleted since another node has just made something that refers to it. */
export class StillReferred extends Interrupted {
  readonly refusal: Refusal;

  constructor(cause: Error, { conflict }: Write) {
    super('retry', cause);
    this.refusal = { kind: 'conflict', message: conflict ?? 'something still refers to it' };
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
/** division_by_zero: of a statement that fails where it touches another number of rows than it must. */
const OTHER_ROWS = '22012';

/** Of one set alone: whatever else was in its batch is written. */
export const TOO_LONG: Refusal = unavailable('the database took too long over this write');

/** A statement that fails unless it touches as many rows as it must: whether it did is known where it runs. */
export function requireRows({ sql, rows }: Write): string {
  if (rows === undefined) return sql;
  const touching = isHold(sql) ? sql : `${sql} returning 1`;
  return `with touched as materialized (${touching})
    select 1 / (case count(*) when ${rows} then 1 else 0 end) from touched`;
}

/**
 * Why a set was refused, by the error of one of its writes.
 *
 * @param lead how many steps came before those writes
 * @throws Interrupted when it is not the set that is at fault
 */
export function refusalOf(
  writes: readonly Write[],
  { done, error }: Required<PipelineResult>,
  lead: number,
): Refusal {
  const write = writes[done.length - lead];
  if (write !== undefined && error.code === QUERY_CANCELED) return TOO_LONG;
  if (write === undefined || !isStatementError(error)) throw interruption(error);
  // Not the caller's mistake: who deletes cannot know what is being made.
  if (error.code === FOREIGN_KEY && isDeletion(write.sql)) throw new StillReferred(error, write);
  return refusalOfWrite(error, write);
}

export function isPassing(error: ServerError): boolean {
  return PASSING.has(error.code);
}

export function interruption(error: ServerError): Interrupted {
  return new Interrupted(isPassing(error) ? 'retry' : 'give_up', error);
}

function refusalOfWrite(error: ServerError, write: Write): Refusal {
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
    case OTHER_ROWS:
      if (write.rows !== undefined) return guardRefusal(write.conflict);
      break;
    case TOO_LARGE:
      return { kind: 'invalid', message: 'a name or path is too long: at most 2,600 bytes' };
  }
  return { kind: 'bug', message: `${error.message} (${error.code})` };
}

export function unavailable(message: string): Refusal {
  return { kind: 'unavailable', message };
}
