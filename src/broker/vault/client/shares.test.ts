import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shares } from './shares.ts';

/** A thread whose work takes as long as it is told to. */
function openThread() {
  let now = 0;
  const turns: (() => void)[] = [];
  const shares = new Shares({ now: () => now, spent: () => now, next: (one) => turns.push(one) });
  const done: string[] = [];
  const add = (name: string, cost: number, ...accounts: string[]) =>
    shares.add(accounts, () => {
      now += cost;
      done.push(name);
    });
  /** Until nothing is left, or so many pieces are done. */
  const run = (most = Number.POSITIVE_INFINITY): string[] => {
    const before = done.length;
    while (done.length - before < most) {
      const next = turns.shift();
      if (!next) break;
      next();
    }
    return done.slice(before);
  };
  const rest = (ms: number): void => {
    now += ms;
  };
  return { shares, add, run, rest };
}

test('of those that cost the same who came first goes first', () => {
  const { add, run } = openThread();
  add('a', 1, 'x');
  add('b', 1, 'y');
  add('c', 1, 'z');
  assert.deepEqual(run(), ['a', 'b', 'c']);
});

test('who comes anew waits for one piece of a spendthrift, however many wait', () => {
  const { add, run } = openThread();
  for (let at = 0; at < 100; at++) add(`costly ${at}`, 300, 'spendthrift');
  assert.deepEqual(run(1), ['costly 0']);
  add('one', 1, 'frugal');
  assert.deepEqual(run(1), ['one']);
  add('two', 1, 'frugal');
  assert.deepEqual(run(1), ['two']);
  assert.equal(run().length, 99);
});

for (const [why, costly] of [
  ['of one asker with many servers', (at: number) => ['asker x', `server ${at}`]],
  ['of many askers for one server', (at: number) => [`asker ${at}`, 'server x']],
] as const) {
  test(`a crowd ${why} has one share`, () => {
    const { add, run } = openThread();
    for (let at = 0; at < 50; at++) add('costly', 300, ...costly(at));
    run(1);
    add('frugal', 1, 'asker y', 'server y');
    assert.deepEqual(run(1), ['frugal']);
  });
}

test('two spendthrifts have as much as one another, whoever has more connections', () => {
  const { add, run } = openThread();
  for (let at = 0; at < 30; at++) add('many', 100, 'a');
  for (let at = 0; at < 10; at++) add('few', 100, 'b');
  const first = run(20);
  assert.equal(first.filter((name) => name === 'few').length, 10);
});

test('what was spent counts less as time goes by', () => {
  const { add, run, rest } = openThread();
  add('a', 1000, 'a');
  run();
  rest(60_000);
  add('b', 100, 'b');
  run();
  add('of b', 1, 'b');
  add('of a', 1, 'a');
  assert.deepEqual(run(), ['of a', 'of b']);
});

test('what is taken back is not done', () => {
  const { add, run } = openThread();
  const leave = add('a', 1, 'x');
  add('b', 1, 'y');
  leave();
  assert.deepEqual(run(), ['b']);
});

test('a piece that fails is charged, and others go on', () => {
  const { shares, add, run } = openThread();
  shares.add(['x'], () => {
    throw new Error('no');
  });
  add('b', 1, 'y');
  assert.throws(() => run(), /no/);
  assert.deepEqual(run(), ['b']);
});

test('accounts are not kept for ever', () => {
  const { shares, add, run } = openThread();
  for (let at = 0; at < 5000; at++) add('a', 1, `account ${at}`);
  run();
  assert.equal(shares.size, 4096);
});
