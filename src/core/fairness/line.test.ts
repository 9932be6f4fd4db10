import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
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

const ASKERS: [address: string, place: number, why: string][] = [
  ['192.0.2.1', 5, 'one more of the same address is last'],
  ['192.0.2.9', 5, 'so is a neighbour, once more'],
  ['198.51.100.1', 2, 'another network waits for two'],
];

test('whoever comes from another network does not wait for the whole line of one', async () => {
  for (const [address, place, why] of ASKERS) {
    const lines = new Lines();
    const order: string[] = [];
    const ask = (from: string, name: string): Promise<void> =>
      doFor(from, () =>
        lines.wait('a', async () => {
          order.push(name);
          await new Promise((resolve) => setImmediate(resolve));
        }),
      );
    const asked = Array.from({ length: 5 }, (_, at) => ask(`192.0.2.${1 + 8 * (at % 2)}`, 'they'));
    asked.push(ask(address, 'one'));
    await Promise.all(asked);
    assert.equal(order.indexOf('one'), place, why);
  }
});

test('whoever waited is told so', async () => {
  const lines = new Lines();
  const told: boolean[] = [];
  const ask = (key: string) => lines.wait(key, async (hasWaited) => void told.push(hasWaited));
  await Promise.all([ask('a'), ask('a'), ask('b')]);
  await ask('a');
  assert.deepEqual(told, [false, false, true, false]);
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
