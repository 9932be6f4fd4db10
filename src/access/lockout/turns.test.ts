import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from './turns.ts';

/** Work that ends when it is told to. */
function openEnded(log: string[], name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return {
    end: () => resolve(name),
    fail: () => reject(new Error(name)),
    work: () => {
      log.push(name);
      return promise;
    },
  };
}

test('no more goes on than may, the rest in its order, and what finds no place is refused', async () => {
  const turns = new Turns(1, 2);
  const log: string[] = [];
  const [a, b, c, d] = [
    openEnded(log, 'a'),
    openEnded(log, 'b'),
    openEnded(log, 'c'),
    openEnded(log, 'd'),
  ];
  const done = [turns.take(a.work), turns.take(b.work), turns.take(c.work)];
  const busy = { kind: 'rate_limited', detail: { retry_after: 1 } };
  await assert.rejects(turns.take(d.work), busy);
  assert.deepEqual(log, ['a']);
  a.end();
  assert.equal(await done[0], 'a');
  b.end();
  await done[1];
  assert.deepEqual(log, ['a', 'b', 'c']);
  const last = turns.take(d.work);
  c.end();
  d.end();
  assert.deepEqual(await Promise.all([done[2], last]), ['c', 'd']);
});

test('work that fails gives its turn back', async () => {
  const turns = new Turns(1, 0);
  const log: string[] = [];
  const failing = openEnded(log, 'a');
  const done = turns.take(failing.work);
  failing.fail();
  await assert.rejects(done, /a/);
  assert.equal(await turns.take(async () => 'b'), 'b');
});
