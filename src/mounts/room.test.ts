import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { MOST_BYTES, MOST_MOUNTS, MOST_OF_ONE, planGrowth, requireRoom } from './room.ts';
import { EMPTY_CONFIG } from './rules.ts';

const refused = (why: RegExp) => (error: unknown) =>
  error instanceof Failure && error.kind === 'invalid' && why.test(error.message);

const THREE_QUARTERS = { count: (MOST_MOUNTS * 3) / 4, bytes: (MOST_BYTES * 3) / 4 };

type Amount = [count: number, bytes: number];
const ROOM: [there: Amount, more: Amount, isOperator: boolean, why: RegExp | undefined][] = [
  [[3749, 0], [1, 0], false, undefined],
  [
    [3750, 0],
    [1, 0],
    false,
    /there are 3750 secrets engines, and may be at most 3750 without sudo/,
  ],
  [[3750, 0], [1, 0], true, undefined],
  [[4999, 0], [1, 0], true, undefined],
  [[5000, 0], [1, 0], true, /there are 5000 secrets engines, and may be at most 5000: /],
  [[6000, 0], [0, 9], true, undefined],
  [[1, THREE_QUARTERS.bytes - 9], [0, 9], false, undefined],
  [[1, THREE_QUARTERS.bytes - 9], [0, 10], false, /3145729 bytes, and may have at most 3145728 w/],
  [[1, THREE_QUARTERS.bytes - 9], [0, 10], true, undefined],
  [[1, MOST_BYTES - 9], [1, 9], true, undefined],
  [[1, MOST_BYTES - 9], [1, 10], true, /4194305 bytes, and may have at most 4194304: /],
  [[1, 2 * MOST_BYTES], [1, 0], false, undefined],
];

for (const [[count, bytes], [one, long], isOperator, why] of ROOM) {
  const who = isOperator ? 'an operator' : 'another caller';
  test(`beside ${count} mounts of ${bytes} bytes ${who} ${why ? 'has no' : 'has'} room for ${one} of ${long} more`, () => {
    const ask = () =>
      requireRoom('secret', { count, bytes }, { count: one, bytes: long }, isOperator);
    if (why) assert.throws(ask, refused(why));
    else ask();
  });
}

const mountOf = (description: string, list: string[] = [], more = {}) => ({
  mount: {
    description,
    options: null,
    config: { ...EMPTY_CONFIG, allowed_response_headers: list, ...more },
  },
  bytes: 400 + description.length + list.join().length,
});

type Sized = ReturnType<typeof mountOf>;
/** What is around the description, in bytes. */
const AROUND = Buffer.byteLength(JSON.stringify(['', null, '', [[], [], [], [], [], []]]));
const long = (bytes: number): Sized => mountOf('x'.repeat(bytes - AROUND));

const GROWTH: [what: string, before: Sized | undefined, next: Sized, wants: number | RegExp][] = [
  ['a new one that says little', undefined, long(256), 0],
  ['a new one that says more', undefined, long(257), long(257).bytes],
  ['a new one that says as much as it may', undefined, long(MOST_OF_ONE), long(MOST_OF_ONE).bytes],
  ['a new one that says too much', undefined, long(MOST_OF_ONE + 1), /65537 bytes, .* most 65536/],
  ['one that grows a little', mountOf(''), mountOf('a word'), 0],
  ['one that grows more', long(300), long(310), 10],
  ['one that grows beyond what it may have', long(MOST_OF_ONE), long(MOST_OF_ONE + 1), /65537/],
  ['one that is too long and stays so', long(90_000), long(90_000), 0],
  ['one that is too long and becomes less', long(90_000), long(80_000), 0],
  ['one that is too long and becomes more', long(90_000), long(90_001), /90001 bytes/],
  ['one with other times', long(9000), { ...long(9000), bytes: 9999 }, 0],
  ['one with a list in place of a description', long(9000), mountOf('', ['x'.repeat(8000)]), 0],
  [
    'one with a long type of tokens',
    mountOf(''),
    mountOf('', [], { token_type: 'x'.repeat(70_000) }),
    /7\d{4} bytes/,
  ],
  ['one with a long list', mountOf(''), mountOf('', ['x'.repeat(8000)]), 8000],
  [
    'one with a list that is too long',
    mountOf(''),
    mountOf('', ['x'.repeat(65_536)]),
    /at most 65536/,
  ],
];

for (const [what, before, next, wants] of GROWTH) {
  test(`${what} ${typeof wants === 'number' ? `wants ${wants} bytes` : 'is refused'}`, () => {
    if (typeof wants === 'number') assert.equal(planGrowth(before, next), wants);
    else assert.throws(() => planGrowth(before, next), refused(wants));
  });
}
