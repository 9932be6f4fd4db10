import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arrivals, type Front } from './arrivals.ts';
import type { Batch, BatchResult } from './batch.ts';

/** Somebody who writes, with what it was told. */
function newFront(): Front & { told: BatchResult[] } {
  const told: BatchResult[] = [];
  return { told, done: (result) => told.push(result) };
}

const batchOf = (...names: string[]): Batch => names.map((audit) => [{ audit }]);
const namesOf = (batch: Batch): string[] =>
  batch.flatMap((set) => set.flatMap((effect) => ('audit' in effect ? effect.audit : [])));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('of one alone each batch is run at once, by itself', () => {
  const ran: string[][] = [];
  const arrivals = new Arrivals((batch) => {
    ran.push(namesOf(batch));
    return { outcomes: batch.map(() => null) };
  });
  const front = newFront();
  arrivals.add(front, batchOf('a', 'b'));
  assert.deepEqual([ran, front.told], [[['a', 'b']], [{ outcomes: [null, null] }]]);
});

test('what several send in one turn is one batch, and each hears of its own sets', async () => {
  const ran: string[][] = [];
  const refusal = { kind: 'conflict' as const, message: 'no' };
  const arrivals = new Arrivals((batch) => {
    ran.push(namesOf(batch));
    const outcomes = namesOf(batch).map((name) => (name === 'bad' ? refusal : null));
    return { outcomes, left: 0, config_version: 9 };
  });
  arrivals.join();
  const [one, two] = [newFront(), newFront()];
  arrivals.add(one, batchOf('a', 'bad'));
  arrivals.add(two, batchOf('b'));
  assert.deepEqual(ran, []);
  await turn();
  assert.deepEqual(ran, [['a', 'bad', 'b']]);
  assert.deepEqual(one.told, [{ outcomes: [null, refusal], left: 0, config_version: 9 }]);
  assert.deepEqual(two.told, [{ outcomes: [null], left: 0, config_version: 9 }]);
});

test('whoever was come to longest ago goes first', async () => {
  const ran: string[][] = [];
  // There is time for two sets.
  const arrivals = new Arrivals((batch) => {
    const outcomes = namesOf(batch).slice(0, 2);
    ran.push(outcomes);
    return { outcomes: outcomes.map(() => null), left: batch.length - outcomes.length };
  });
  arrivals.join();
  const [one, two] = [newFront(), newFront()];
  arrivals.add(one, batchOf('a', 'b', 'c'));
  arrivals.add(two, batchOf('x', 'y'));
  await turn();
  assert.deepEqual(one.told, [{ outcomes: [null, null], left: 1 }]);
  assert.deepEqual(two.told, [{ outcomes: [], left: 2 }]);
  arrivals.add(one, batchOf('c', 'd'));
  arrivals.add(two, batchOf('x', 'y'));
  await turn();
  assert.deepEqual(ran, [
    ['a', 'b'],
    ['x', 'y'],
  ]);
  assert.deepEqual(two.told.at(-1), { outcomes: [null, null], left: 0 });
});

test('what comes while a batch is run waits for its end, and goes together', async () => {
  const ran: string[][] = [];
  const ends: (() => void)[] = [];
  const arrivals = new Arrivals((batch) => {
    ran.push(namesOf(batch));
    return new Promise((resolve) => ends.push(() => resolve({ outcomes: batch.map(() => null) })));
  });
  arrivals.join();
  const [one, two] = [newFront(), newFront()];
  arrivals.add(one, batchOf('a'));
  await turn();
  arrivals.add(one, batchOf('b'));
  arrivals.add(two, batchOf('c'));
  await turn();
  assert.deepEqual(ran, [['a']]);
  ends[0]?.();
  await turn();
  assert.deepEqual(ran, [['a'], ['c', 'b']]);
  assert.deepEqual([one.told.length, two.told.length], [1, 0]);
  ends[1]?.();
  await turn();
  assert.deepEqual([one.told.length, two.told.length], [2, 1]);
});
