import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestApp } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { doForOthers, noteEnd, oneForAll } from '../../app/one-for-all.ts';
import { isInLine, waitInLine } from './lines.operations.ts';

/** One that supervises, and two that ask it. */
async function openThreads(t: { after(close: () => Promise<void>): void }): Promise<App[]> {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app } = await openTestApp(await place.open());
  const others = [{ ...app }, { ...app }];
  for (const [at, other] of others.entries()) {
    const ask = async (name: string, argument: unknown) => {
      await nextTurn();
      return structuredClone(await doForOthers(app, name, argument));
    };
    Object.assign(oneForAll(other), { place: at + 1, ask });
  }
  return [app, ...others];
}

test('of one line one runs at a time, whichever thread has it, and all have their turn', async (t) => {
  const apps = await openThreads(t);
  let running = 0;
  let most = 0;
  const run = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await nextTurn();
    await nextTurn();
    running -= 1;
  };
  const all = apps.flatMap((app) => Array.from({ length: 10 }, () => waitInLine(app, 'a', run)));
  await Promise.all(all);
  assert.equal(most, 1);
  await nextTurn();
  await nextTurn();
  assert.ok(apps.every((app) => !isInLine(app, 'a')));
});

test('of two lines each goes on, and what fails in one is refused as it is', async (t) => {
  const apps = await openThreads(t);
  const [, one, two] = apps;
  assert.ok(one && two);
  const gate = Promise.withResolvers<void>();
  const held = waitInLine(one, 'a', () => gate.promise);
  await assert.rejects(
    waitInLine(two, 'b', () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await waitInLine(two, 'b', async () => 7), 7);
  gate.resolve();
  await held;
});

test('what a thread had of a line, or waited for, that has died is the next one’s at once', async (t) => {
  const [app, one, two] = await openThreads(t);
  assert.ok(app && one && two);
  const begun: string[] = [];
  const enter = (of: App, key: string, name: string) =>
    waitInLine(of, key, async () => {
      begun.push(name);
      if (of === one) await new Promise(() => {});
    });
  const settle = async () => {
    for (let turns = 0; turns < 10; turns += 1) await nextTurn();
  };
  void enter(one, 'a', 'had');
  await settle();
  const next = enter(two, 'a', 'next');
  const gate = Promise.withResolvers<void>();
  const first = waitInLine(two, 'b', () => gate.promise);
  await settle();
  void enter(one, 'b', 'never');
  await settle();
  noteEnd(app, 1);
  await next;
  gate.resolve();
  await first;
  await enter(two, 'b', 'last');
  assert.deepEqual(begun, ['had', 'next', 'last']);
});

test('a thread that hangs holds up nobody for ever', async (t) => {
  const [app, one, two] = await openThreads(t);
  assert.ok(app && one && two);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const isHeld = Promise.withResolvers<void>();
  void waitInLine(one, 'a', () => {
    isHeld.resolve();
    return new Promise<void>(() => {});
  });
  await isHeld.promise;
  let isDone = false;
  const next = waitInLine(two, 'a', async () => {
    isDone = true;
  });
  for (let turns = 0; turns < 10; turns += 1) await nextTurn();
  assert.equal(isDone, false);
  t.mock.timers.tick(5_000);
  await next;
  assert.equal(isDone, true);
});
