import { type ChainHead, chainRecord } from '../../core/record-chain.ts';
import { type Batch, guardRefusal, type Refusal } from '../batch.ts';
import { isHold } from '../holding.ts';
import type { KeptHolds } from '../kept-holds.ts';
import type { Step, StepResult } from '../pipeline.ts';
import { isAuditEntry, type Write, writesOf } from '../write.ts';

/** The statements of some write sets, without the transaction around them. */
interface Plan {
  steps: Step[];
  /** The write behind each step; the steps that follow them chain the audit records. */
  writes: Write[];
  /** The place of the set of each in the batch. */
  sets: number[];
  /** The audit chain once they are written. */
  head: ChainHead;
  outcomes: null[];
  /** The refusal of the first write, of those that were done, whose row count is wrong. */
  judge(done: readonly StepResult[]): Refusal | undefined;
}

/** Rows of audit records in one statement: powers of two, so that few texts are prepared. */
const AUDIT_ROWS = [64, 32, 16, 8, 4, 2, 1];

/**
 * Lays out write sets for one pipeline: their writes in order, then their audit records,
 * which nothing else refers to, in as few statements as will do.
 *
 * @param holds of the session: rows that one set holds, and another one would by the same statement, are held once
 */
export function planSteps(node: string, from: ChainHead, batch: Batch, holds: KeptHolds): Plan {
  const { writes, sets } = planWrites(batch, holds);
  const records = planRecords(node, from, batch);
  return {
    steps: [...writes, ...records.steps],
    writes,
    sets,
    head: records.head,
    outcomes: batch.map(() => null),
    judge: (done) => {
      const wrong = writes.find(
        ({ rows }, at) => rows !== undefined && at < done.length && done[at]?.rows !== rows,
      );
      return wrong && guardRefusal(wrong.conflict);
    },
  };
}

function planWrites(batch: Batch, holds: KeptHolds): Pick<Plan, 'writes' | 'sets'> {
  const writes: Write[] = [];
  const sets: number[] = [];
  holds.forget();
  for (const [at, set] of batch.entries()) {
    for (const write of writesOf(set)) {
      if (isAsked(write, holds)) continue;
      writes.push(write);
      sets.push(at);
    }
  }
  return { writes, sets };
}

/** Whether a set before asks the same, and wants the same answer: all of them fail where it does not get that. */
function isAsked({ sql, parameters, rows }: Write, holds: KeptHolds): boolean {
  if (!isHold(sql)) holds.note(sql);
  else if (rows !== undefined) {
    if (holds.find(sql, parameters) === rows) return true;
    holds.set(sql, parameters, rows);
  }
  return false;
}

/** As {@link planSteps}, of the records alone. */
export function planRecords(
  node: string,
  from: ChainHead,
  batch: Batch,
): Pick<Plan, 'steps' | 'head'> {
  const records: Step['parameters'][] = [];
  const time_ms = Date.now();
  let head = from;
  for (const { audit } of batch.flat().filter(isAuditEntry)) {
    const next = chainRecord(head, audit);
    records.push([node, next.seq, time_ms, audit, head.hash, next.hash]);
    head = next;
  }
  const steps: Step[] = [];
  for (let at = 0; at < records.length; ) {
    const left = records.length - at;
    const rows = AUDIT_ROWS.find((count) => count <= left) ?? 1;
    steps.push({ sql: insertRecords(rows), parameters: records.slice(at, at + rows).flat() });
    at += rows;
  }
  return { steps, head };
}

function insertRecords(rows: number): string {
  const tuples = Array.from({ length: rows }, (_, row) => {
    const numbers = Array.from({ length: 6 }, (_, column) => `$${row * 6 + column + 1}`);
    return `(${numbers.join(', ')})`;
  });
  return `insert into audit_entry (node, seq, time_ms, record, prev_hash, hash) values ${tuples.join(', ')}`;
}
