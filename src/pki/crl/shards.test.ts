import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isWithin,
  MOST_SHARDS,
  nameShard,
  parseShard,
  rangeOf,
  type Shard,
  shardOf,
} from './shards.ts';

const NAMES: [name: string, shard: Shard | undefined][] = [
  ['0-of-2', { number: 0, count: 2 }],
  ['63-of-64', { number: 63, count: 64 }],
  ['1023-of-1024', { number: 1023, count: 1024 }],
  ['64-of-64', undefined],
  ['0-of-1', undefined],
  ['0-of-1025', undefined],
  ['03-of-64', undefined],
  ['3-of-064', undefined],
  ['3', undefined],
  ['3-OF-64', undefined],
  [' 3-of-64', undefined],
  ['-1-of-64', undefined],
  ['', undefined],
];
for (const [name, shard] of NAMES) {
  test(`"${name}" names ${shard ? 'a shard' : 'no shard'}`, () => {
    assert.deepEqual(parseShard(name), shard);
    if (shard) assert.equal(nameShard(shard), name);
  });
}

const EDGES = [
  '00',
  '01',
  '01:00',
  '01:00:00',
  '05',
  '40:80',
  '40:80:01',
  '7f',
  '7f:ff:ff',
  'ff:ff',
];

test('each serial number is in one shard, the one that says so, and none is left out', () => {
  const random = Array.from({ length: 300 }, (_, at) => {
    const first = (1 + ((at * 37) % 127)).toString(16).padStart(2, '0');
    return `${first}:${((at * 91) % 256).toString(16).padStart(2, '0')}:ab:cd`;
  });
  for (const count of [2, 3, 10, 64, 127, 1000, MOST_SHARDS]) {
    const ranges = Array.from({ length: count }, (_, number) => rangeOf({ number, count }));
    for (const [at, range] of ranges.entries()) {
      assert.equal(range.after, ranges[at - 1]?.up_to ?? '');
      assert.ok(range.after < range.up_to);
    }
    for (const serial of [...EDGES, ...random]) {
      const holding = ranges.flatMap((range, number) => (isWithin(range, serial) ? [number] : []));
      assert.deepEqual(holding, [shardOf(serial, count).number], `${serial} of ${count}`);
    }
  }
});

test('shards are about as long as each other', () => {
  const counts = new Map<number, number>();
  for (let first = 1; first < 0x80; first++) {
    for (let second = 0; second < 256; second++) {
      const serial = `${first.toString(16).padStart(2, '0')}:${second.toString(16).padStart(2, '0')}:00`;
      const { number } = shardOf(serial, 64);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
  }
  assert.equal(counts.size, 64);
  for (const count of counts.values()) assert.equal(count, (127 * 256) / 64);
});
