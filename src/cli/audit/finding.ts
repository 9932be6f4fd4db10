import type { ChainHead } from '../../core/record-chain.ts';

/** What was found of one node's chain. */
export interface ChainFinding {
  node: string;
  /** Records checked. */
  records: number;
  /** The number of the first of them. */
  first_seq: number | undefined;
  /** Unix milliseconds. */
  first_ms: number | undefined;
  last_ms: number | undefined;
  /** The last record that is right. */
  head: ChainHead;
  broken: { seq: number; because: string } | undefined;
}

export function newFinding(node: string, head: ChainHead): ChainFinding {
  return {
    node,
    records: 0,
    first_seq: undefined,
    first_ms: undefined,
    last_ms: undefined,
    head,
    broken: undefined,
  };
}

/** Takes a record in that was found right. */
export function addRecord(
  finding: ChainFinding,
  { seq, hash }: ChainHead,
  time_ms: number | undefined,
): void {
  finding.records += 1;
  finding.first_seq ??= seq;
  finding.first_ms ??= time_ms;
  finding.last_ms = time_ms ?? finding.last_ms;
  finding.head = { seq, hash };
}
