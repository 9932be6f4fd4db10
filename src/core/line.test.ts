import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines } from './line.ts';

test('who comes for one thing waits for those who came before, and not for others', async () => {
  const lines = new Lines();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = lines.wait('a', async () => {
    await gate.promise;
    order.push('first');
  });
  const second = lines.wait('a', async () => {
    order.push('second');
    return 2;
  });
  await lines.wait('b', async () => {
    order.push('other');
  });
  assert.deepEqual(order, ['other']);
  gate.resolve();
  assert.equal(await second, 2);
  await first;
  assert.deepEqual(order, ['other', 'first', 'second']);
});

test('one that fails is told so, and the next one runs', async () => {
  const lines = new Lines();
  const failed = lines.wait('a', () => Promise.reject(new Error('no')));
  const next = lines.wait('a', async () => 'yes');
  await assert.rejects(failed, /no/);
  assert.equal(await next, 'yes');
});

test('nothing is kept of a line that is empty', async () => {
  const lines = new Lines();
  await Promise.all([1, 2, 3].map((one) => lines.wait('a', async () => one)));
  await Promise.resolve();
  assert.equal(lines.size, 0);
});
