import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchPacker, BatchUnpacker } from './packing.ts';
import type { Effect } from './write.ts';

const SETS: Effect[][] = [
  [
    {
      sql: 'insert a',
      parameters: ['text', 1, 5n, null, Uint8Array.of(1, 2)],
      rows: 1,
      conflict: 'no',
    },
    { audit: '{"n":1}' },
  ],
  [],
  [{ sql: 'update b', parameters: [Uint8Array.of(), Uint8Array.of(3)] }],
  [{ sql: 'insert a', parameters: [], rows: 0 }],
];

test('write sets come out as they went in', () => {
  const packed = structuredClone(new BatchPacker().pack(SETS));
  assert.deepEqual(new BatchUnpacker().unpack(packed), SETS);
});

test('the text of a statement is sent once', () => {
  const packer = new BatchPacker();
  const unpacker = new BatchUnpacker();
  assert.deepEqual(unpacker.unpack(packer.pack(SETS)), SETS);
  const again = packer.pack(SETS);
  assert.deepEqual(again.texts, []);
  assert.deepEqual(unpacker.unpack(again), SETS);
});

test('a long text that many sets compare is sent once, and written as often as it is', () => {
  const long = 'x'.repeat(2000);
  const other = 'y'.repeat(2000);
  const set = (text: string): Effect[] => [
    { sql: 'select a', parameters: ['b', text, 7], rows: 1 },
    { sql: 'select a', parameters: ['b', other, 7], rows: 1 },
    { sql: 'insert a', parameters: [long] },
  ];
  const sets = [set(long), set(long), set('x')];
  const packed = structuredClone(new BatchPacker().pack(sets));
  assert.deepEqual(packed.compared, [long, other]);
  assert.equal(packed.items.filter((item) => item === long).length, 3);
  assert.deepEqual(new BatchUnpacker().unpack(packed), sets);
});

test('texts of ever new shapes are forgotten on both sides at the same time', () => {
  const packer = new BatchPacker();
  const unpacker = new BatchUnpacker();
  for (let n = 0; n < 2500; n += 1) {
    const sets = [[{ sql: `select ${n}`, parameters: [n] }], ...SETS];
    assert.deepEqual(unpacker.unpack(packer.pack(sets)), sets);
  }
});

test('bytes are copied, not shared', () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const packed = new BatchPacker().pack([[{ sql: 'a', parameters: [bytes] }]]);
  bytes.fill(0);
  assert.deepEqual(packed.bytes, Uint8Array.of(1, 2, 3));
});
