import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { ChangesInTurn } from './changes-in-turn.ts';

const KiB = 1 << 10;

/** How many of as many changes are under way at the same time. */
async function countAtOnce(things: readonly string[], bytes: number): Promise<number> {
  const changes = new ChangesInTurn();
  let present = 0;
  let most = 0;
  const change = async (): Promise<void> => {
    present += 1;
    most = Math.max(most, present);
    // Until all that would come have come.
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
    present -= 1;
  };
  await Promise.all(things.map((key) => changes.run(key, bytes, change)));
  return most;
}

const SAME = Array<string>(12).fill('r');
const OTHERS = SAME.map((name, at) => `${name}${at}`);

for (const [bytes, things, most, why] of [
  [0, SAME, 12, 'what is not there yet waits for nobody'],
  [16 * KiB, SAME, 12, 'nor does what is short'],
  [16 * KiB, OTHERS, 12, 'and others neither'],
  [16 * KiB + 1, OTHERS, 6, 'of middling ones one network has some at once'],
  [16 * KiB + 1, SAME, 1, 'of the same one'],
  [128 * KiB, OTHERS, 6, 'up to their bound'],
  [128 * KiB + 1, OTHERS, 1, 'of large ones one network has one of two'],
  [128 * KiB + 1, SAME, 1, 'and the same one by one'],
] as const) {
  test(`${why}: ${bytes} bytes`, async () => {
    assert.equal(await doFor('192.0.2.7', () => countAtOnce(things, bytes)), most);
  });
}

test('whoever has much to change elsewhere keeps nobody of another network from what both change', async () => {
  const changes = new ChangesInTurn();
  const done: string[] = [];
  const change = (address: string, key: string) =>
    doFor(address, () =>
      changes.run(key, 200 * KiB, async () => {
        for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
        done.push(`${address} ${key}`);
      }),
    );
  await Promise.all([
    ...OTHERS.map((key) => change('192.0.2.7', key)),
    change('192.0.2.7', 'shared'),
    change('198.51.100.7', 'shared'),
  ]);
  assert.ok(done.indexOf('198.51.100.7 shared') <= 1, done.join());
});

test('a change that fails gives back its place and its turn', async () => {
  const changes = new ChangesInTurn();
  const failing = [1, 2, 3].map(() =>
    changes.run('r', 200 * KiB, () => Promise.reject(new Error('no'))),
  );
  assert.ok((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected'));
  assert.equal(await changes.run('r', 200 * KiB, async () => 'done'), 'done');
});
