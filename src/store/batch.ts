import type { MessagePort } from 'node:worker_threads';
import type { Engine } from './columns.ts';
import type { PackedBatch } from './packing.ts';
import type { Effect } from './write.ts';

/** What the committer thread is started with. */
export type CommitterOptions = (
  | { engine: 'sqlite'; file: string; node: string }
  | { engine: 'postgres'; url: string; node: string }
) & {
  /** See `WriteCounts`. */
  counts: SharedArrayBuffer;
};

/** The write sets of one transaction, each of which stands or falls alone. */
export type Batch = readonly (readonly Effect[])[];

/**
 * Why one set was not written. `invalid`: the caller sent what the database cannot take; `unavailable`: the database
 * could not take it, or nobody knows whether it did; `bug`: a statement that can never work.
 */
export interface Refusal {
  kind: 'conflict' | 'invalid' | 'unavailable' | 'bug';
  message: string;
}

/** One outcome for each set of the batch that was come to, in order; null: it is durable. */
export interface BatchResult {
  outcomes: (Refusal | null)[];
  /** How many sets at the end of the batch were not begun: the others took long. */
  left?: number;
  /** The configuration's version after the batch, when a set of it changed configuration. */
  config_version?: number;
}

/** One engine's way of writing batches; it holds the head of the audit chain. */
export interface BatchWriter {
  /** Never throws: whatever goes wrong is an outcome. */
  run(batch: Batch): BatchResult | Promise<BatchResult>;
  close(): void | Promise<void>;
}

export type ToCommitter =
  | { type: 'batch'; packed: PackedBatch }
  /** One more thread writes, by this port. */
  | { type: 'join'; port: MessagePort }
  /** What the others wrote is known. */
  | { type: 'looked' }
  | { type: 'close' };

export type FromCommitter =
  | { type: 'ready'; engine: Engine }
  | { type: 'refused'; message: string }
  | { type: 'done'; result: BatchResult }
  /** Said to the one who started the thread. */
  | { type: 'others wrote' }
  | { type: 'log'; level: 'info' | 'warn' | 'error'; message: string; detail: LogDetail };

export type LogDetail = Record<string, string | number>;

/** The conflict of a write whose guard did not hold. */
export function guardRefusal(conflict: string | undefined): Refusal {
  const message = conflict ?? 'it was changed by somebody else in the meantime: read it again';
  return { kind: 'conflict', message };
}

export function refuseAll(batch: Batch, refusal: Refusal): BatchResult {
  return { outcomes: batch.map(() => refusal) };
}
