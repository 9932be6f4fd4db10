import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SharedRuns } from './shared-runs.ts';

/** Runs that are told of, and end when they are let go. */
function watched() {
  const runs = new SharedRuns();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (name: string): Promise<void> =>
    runs.run(async () => {
      begun.push(name);
      await new Promise<void>((end) => ends.push(end));
    });
  return { runs, begun, ask, end: () => (ends.shift() ?? assert.fail('nothing is under way'))() };
}

test('who asks while a run is under way shares the next one with all who do', async () => {
  const { begun, ask, end } = watched();
  const first = ask('first');
  const others = ['second', 'third', 'fourth'].map(ask);
  await turn();
  assert.deepEqual(begun, ['first']);
  end();
  await first;
  await turn();
  assert.deepEqual(begun, ['first', 'second']);
  const late = ask('late');
  end();
  await Promise.all(others);
  await turn();
  assert.deepEqual(begun, ['first', 'second', 'late']);
  end();
  await late;
});

test('who asks at the moment in which a run ends begins none beside the next one', async () => {
  const runs = new SharedRuns();
  let present = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    present += 1;
    most = Math.max(most, present);
    await turn();
    present -= 1;
  };
  const ask = async (left: number): Promise<void> => {
    await runs.run(work);
    // Each a few steps later than the one before.
    for (let step = 0; step < left; step++) await undefined;
    if (left > 0) await ask(left - 1);
  };
  await Promise.all(Array.from({ length: 10 }, (_, at) => ask(at)));
  assert.equal(most, 1);
});

test('a run that fails fails for those who share it, and the next one is begun all the same', async () => {
  const runs = new SharedRuns();
  const first = runs.run(() => Promise.reject(new Error('no')));
  const next = ['second', 'third'].map(() => runs.run(async () => {}));
  await assert.rejects(first, /no/);
  await Promise.all(next);
  await assert.rejects(
    runs.run(() => Promise.reject(new Error('nor now'))),
    /nor now/,
  );
  await runs.run(async () => {});
});
