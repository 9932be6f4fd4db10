import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { heapUsed } from '../../../test/support/heap.ts';
import { holdsNobodyUp } from '../../../test/support/turns.ts';
import { GoingOn } from './going-on.ts';

test('each goes on with all that it does until it waits again before the next one does', async () => {
  const goingOn = new GoingOn();
  const told: string[] = [];
  const all = ['a', 'b', 'c'].map(async (name) => {
    await new Promise<void>((resolve) => goingOn.add(resolve));
    told.push(`${name} goes on`);
    await undefined;
    told.push(`${name} after a step`);
    await new Promise((resolve) => process.nextTick(resolve));
  });
  assert.equal(goingOn.isEmpty, false);
  await Promise.all(all);
  assert.deepEqual(
    told,
    ['a', 'b', 'c'].flatMap((name) => [`${name} goes on`, `${name} after a step`]),
  );
  assert.equal(goingOn.isEmpty, true);
});

test('one alone goes on at once, and so does one that comes after all have', async () => {
  const goingOn = new GoingOn();
  for (let time = 0; time < 2; time += 1) {
    let went = 0;
    goingOn.add(() => {
      went += 1;
    });
    assert.equal(went, 1);
    goingOn.add(() => {
      went += 1;
    });
    assert.equal(went, 1);
    // In this turn of the event loop or, when it has lasted long by then, in the next.
    while (!goingOn.isEmpty) await nextTurn();
    await nextTurn();
    assert.equal(went, 2);
  }
});

test('who has gone on is not held, though there are always others who wait', async () => {
  const goingOn = new GoingOn();
  const before = heapUsed();
  let left = 2_000;
  const grown = await new Promise<number>((resolve) => {
    const come = (): void => {
      const held = new Array(1_000).fill(left);
      goingOn.add(() => {
        left -= 1;
        if (left > 0) come();
        else if (left === 0) resolve(heapUsed() - before - held.length);
      });
    };
    // Whoever of the two goes on, the other waits.
    come();
    come();
  });
  assert.ok(grown < 2 << 20, `${grown} bytes`);
});

test('what many go on to do is not one turn of the event loop', async () => {
  const goingOn = new GoingOn();
  const spend = (): void => {
    for (const end = performance.now() + 0.1; performance.now() < end; );
  };
  await holdsNobodyUp(async () => {
    const all = Array.from({ length: 1000 }, async () => {
      await new Promise<void>((resolve) => goingOn.add(resolve));
      await undefined;
      spend();
    });
    await Promise.all(all);
  });
});
