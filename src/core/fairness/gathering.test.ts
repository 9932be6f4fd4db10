import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Gathering, type GatheringFault } from './gathering.ts';
import { SharedBytes } from './shared-bytes.ts';

const ROOMY = { total: 1 << 30, each: 1 << 30 };

describe('what comes in pieces is put together within its limits', () => {
  const rows: [what: string, size: number, count: number, fault: GatheringFault | undefined][] = [
    ['one piece of all', 1 << 20, 1, undefined],
    ['packets', 536, 1_900, undefined],
    ['a word in each chunk', 100, 10_000, undefined],
    ['a letter typed in each chunk', 1, 4_096, undefined],
    ['a letter in each chunk without end', 1, 5_000, 'too_many_pieces'],
    ['sixteen bytes in each chunk without end', 16, 65_000, 'too_many_pieces'],
    ['one byte too many', (1 << 20) + 1, 1, 'too_long'],
    ['packets without end', 1_460, 1_000, 'too_long'],
  ];
  for (const [what, size, count, expected] of rows) {
    test(`${what}: ${expected ?? 'taken'}`, () => {
      const gathering = new Gathering({ limit: 1 << 20 });
      let fault: GatheringFault | undefined;
      for (let n = 0; n < count && !fault; n++) {
        fault = gathering.add(new Uint8Array(size).fill(n));
      }
      assert.equal(fault, expected);
      if (expected === undefined) {
        const whole = gathering.bytes();
        assert.equal(whole.length, size * count);
        for (let n = 0; n < count; n++) assert.equal(whole[n * size], n & 0xff);
      }
    });
  }
});

describe('memory grows with what has come, not with what was announced', () => {
  const rows: [announced: number | undefined, sizes: number[], most: number][] = [
    [1 << 20, [1], 256],
    [undefined, new Array<number>(1_000).fill(1), 1_024],
    [200_000, [1_460, 1_460], 2_920],
    [10, [4, 6], 10],
    [5_000, [5_000], 5_000],
  ];
  for (const [announced, sizes, most] of rows) {
    test(`${sizes.length} pieces of ${sizes[0]} bytes, announced ${announced}: at most ${most}`, () => {
      const shared = new SharedBytes(ROOMY);
      const hold = shared.hold('a', () => {});
      const gathering = new Gathering({ limit: 1 << 20, announced, hold });
      for (const size of sizes) assert.equal(gathering.add(new Uint8Array(size)), undefined);
      assert.ok(shared.held <= most, `${shared.held}`);
      hold.release();
      assert.equal(shared.held, 0);
    });
  }
});

test('what there is no room for is not taken', () => {
  const shared = new SharedBytes({ total: 100, each: 100 });
  const gathering = new Gathering({ limit: 1 << 20, hold: shared.hold('a', () => {}) });
  assert.equal(gathering.add(new Uint8Array(101)), 'no_room');
  assert.equal(shared.held, 0);
});
