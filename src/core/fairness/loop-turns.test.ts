import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopTurns } from './loop-turns.ts';

/** Milliseconds of CPU. */
const work = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

/** Does some work in steps, each after a read that is over at once, and tells when. */
async function readOn(turns: LoopTurns, steps: number, told: () => void): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    if (turns.isOver) await turns.next();
    work(1);
    told();
    await undefined;
  }
}

test('a few reads are done in one turn of the event loop', async (t) => {
  // However long the machine takes.
  t.mock.method(performance, 'now', () => 1);
  const turns = new LoopTurns();
  let isLater = false;
  setImmediate(() => {
    isLater = true;
  });
  for (let at = 0; at < 20; at += 1) {
    assert.equal(turns.isOver, false);
    await undefined;
  }
  assert.equal(isLater, false);
});

test('others have their turn while somebody reads on and on', async () => {
  const turns = new LoopTurns();
  let steps = 0;
  const seen: number[] = [];
  const look = setInterval(() => seen.push(steps), 1);
  await readOn(turns, 60, () => {
    steps += 1;
  });
  clearInterval(look);
  // About ten are possible; a machine that is busy has more of them.
  assert.ok(seen.length >= 5, `${seen}`);
});

test('of those that read on and on, each goes on as often as the others', async () => {
  const turns = new LoopTurns();
  const done = [0, 0, 0];
  const ends = done.map((_, who) =>
    readOn(turns, 40, () => {
      done[who] = (done[who] ?? 0) + 1;
    }),
  );
  await ends[0];
  for (const count of done) assert.ok(count >= 20, `${done}`);
  await Promise.all(ends);
  assert.deepEqual(done, [40, 40, 40]);
});

test('one of those that wait goes on in each turn, however long the turns are', async () => {
  const turns = new LoopTurns();
  const busy = setInterval(() => {
    if (!turns.isOver) work(8);
  }, 1);
  let steps = 0;
  await readOn(turns, 10, () => {
    steps += 1;
  });
  clearInterval(busy);
  assert.equal(steps, 10);
});
