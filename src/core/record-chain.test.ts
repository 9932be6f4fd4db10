import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type ChainedRecord, chainRecord, chainStart, verifyChain } from './record-chain.ts';

function chainOf(node: string, records: string[]): ChainedRecord[] {
  let head = chainStart(node);
  return records.map((record) => {
    const prev_hash = head.hash;
    head = chainRecord(head, record);
    return { seq: head.seq, record, prev_hash, hash: head.hash };
  });
}

const RECORDS = ['{"n":1}', '{"n":2}', '{"n":"drei – ü"}', '{"n":4}'];

test('a record is hashed with the hash before it', () => {
  const [first] = chainOf('a', ['{"n":"ü"}']);
  const start = createHash('sha256').update('gatehouse audit chain\0a').digest();
  const expected = createHash('sha256').update(start).update('{"n":"ü"}').digest();
  assert.deepEqual(Buffer.from(first?.hash ?? []), expected);
});

test('a chain as it was written is intact, whole or page by page', () => {
  const rows = chainOf('a', RECORDS);
  const whole = verifyChain(chainStart('a'), rows);
  assert.ok(whole.intact);
  assert.equal(whole.head.seq, 4);
  const page = verifyChain(chainStart('a'), rows.slice(0, 2));
  assert.ok(page.intact);
  assert.deepEqual(verifyChain(page.head, rows.slice(2)), whole);
});

const harm: [what: string, seq: number, change: (rows: ChainedRecord[]) => ChainedRecord[]][] = [
  ['a changed record', 2, (r) => r.map((x) => (x.seq === 2 ? { ...x, record: '{"n":9}' } : x))],
  ['a record left out', 2, (r) => r.filter((x) => x.seq !== 2)],
  [
    'a record left out and the rest renumbered',
    2,
    (r) => r.filter((x) => x.seq !== 2).map((x, i) => ({ ...x, seq: i + 1 })),
  ],
  ['the first record left out', 1, (r) => r.slice(1)],
  [
    'two records exchanged',
    2,
    (r) => [0, 2, 1, 3].flatMap((i, at) => (r[i] ? [{ ...r[i], seq: at + 1 }] : [])),
  ],
  [
    'a changed hash',
    3,
    (r) => r.map((x) => (x.seq === 3 ? { ...x, hash: new Uint8Array(32) } : x)),
  ],
  ["another node's chain", 1, () => chainOf('b', RECORDS)],
  [
    'a record that was added at the end without its hash',
    5,
    (r) => [
      ...r,
      { seq: 5, record: '{}', prev_hash: new Uint8Array(32), hash: new Uint8Array(32) },
    ],
  ],
];

for (const [what, seq, change] of harm) {
  test(`${what} shows`, () => {
    const verdict = verifyChain(chainStart('a'), change(chainOf('a', RECORDS)));
    assert.ok(!verdict.intact);
    assert.equal(verdict.seq, seq);
  });
}
