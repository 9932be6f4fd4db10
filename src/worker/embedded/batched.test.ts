import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { batched } from './batched.ts';

test('what is said in one turn is handed over together, in its order, and nothing twice', async () => {
  const posted: (readonly number[])[] = [];
  const say = batched<number>((messages) => posted.push(messages));
  say(1);
  say(2);
  assert.deepEqual(posted, []);
  await Promise.resolve().then(() => say(3));
  await nextTurn();
  assert.deepEqual(posted, [[1, 2, 3]]);
  say(4);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(posted, [[1, 2, 3], [4]]);
});
