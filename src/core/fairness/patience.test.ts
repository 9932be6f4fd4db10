import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Patience } from './patience.ts';

test('an answer is held back for its time, at most so many at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const patience = new Patience(500, 1);
  const ended: string[] = [];
  const first = patience.wait({}).then(() => ended.push('first'));
  await patience.wait({}).then(() => ended.push('one too many'));
  assert.deepEqual(ended, ['one too many']);
  t.mock.timers.tick(499);
  await Promise.resolve();
  assert.deepEqual(ended, ['one too many']);
  t.mock.timers.tick(1);
  await first;
  const second = patience.wait({});
  t.mock.timers.tick(500);
  await second;
});

test('nothing is held for who has gone, nor when the server stops', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const patience = new Patience(500, 2);
  let leave = (): void => {};
  let listening = 0;
  const leaving = patience.wait({
    onGone: (listener) => {
      leave = listener;
      listening += 1;
      return () => {
        listening -= 1;
      };
    },
  });
  leave();
  await leaving;
  assert.equal(listening, 0);
  const waiting = [patience.wait({}), patience.wait({})];
  patience.end();
  await Promise.all(waiting);
});
