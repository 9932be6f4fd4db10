import { createHash, hash } from 'node:crypto';

/** One record as it is stored. */
export interface ChainedRecord {
  seq: number;
  record: string;
  prev_hash: Uint8Array;
  hash: Uint8Array;
}

/** Where a node's chain stands: its last record. */
export interface ChainHead {
  seq: number;
  hash: Uint8Array;
}

type ChainVerdict =
  | { intact: true; head: ChainHead }
  | { intact: false; seq: number; because: string };

/**
 * The head of a chain without records: number 0, and the SHA-256 of the text
 * `gatehouse audit chain`, a zero byte and the node's name, so that no record of one node
 * can be passed off as another's.
 */
export function chainStart(node: string): ChainHead {
  return { seq: 0, hash: hash('sha256', `gatehouse audit chain\0${node}`, 'buffer') };
}

/** Adds a record: its hash is the SHA-256 of the last hash (32 bytes) and the record's UTF-8. */
export function chainRecord(head: ChainHead, record: string): ChainHead {
  return {
    seq: head.seq + 1,
    hash: createHash('sha256').update(head.hash).update(record, 'utf8').digest(),
  };
}

/**
 * Checks that no record was changed, left out, added or moved. What was cut off at the end
 * only shows against a head that was kept elsewhere.
 *
 * @param from the head before the first of these records: `chainStart(node)`, or the head
 *   that the check of the page before answered
 * @param records in order of `seq`
 */
export function verifyChain(from: ChainHead, records: Iterable<ChainedRecord>): ChainVerdict {
  let head = from;
  for (const found of records) {
    const expected = chainRecord(head, found.record);
    if (found.seq !== expected.seq) {
      const because = `record ${expected.seq} is missing: record ${found.seq} stands in its place`;
      return { intact: false, seq: expected.seq, because };
    }
    if (Buffer.compare(found.prev_hash, head.hash) !== 0) {
      const because = `record ${found.seq} does not follow from the record before it`;
      return { intact: false, seq: found.seq, because };
    }
    if (Buffer.compare(found.hash, expected.hash) !== 0) {
      return { intact: false, seq: found.seq, because: `record ${found.seq} was changed` };
    }
    head = expected;
  }
  return { intact: true, head };
}
