import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { nextBreath } from './breath.ts';
import { FewInTurn } from './few-in-turn.ts';

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('so many are under way at the same time and not one more, also after one has failed', async () => {
  const few = new FewInTurn(2);
  let underWay = 0;
  let most = 0;
  const work = async (at: number): Promise<number> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await later();
    underWay -= 1;
    if (at % 3 === 0) throw new Error(`${at}`);
    return at;
  };
  for (let round = 0; round < 2; round++) {
    const done = await Promise.allSettled(
      Array.from({ length: 9 }, (_, at) => few.run(() => work(at))),
    );
    assert.deepEqual(
      done.map((one) => (one.status === 'fulfilled' ? one.value : -1)),
      [-1, 1, 2, -1, 4, 5, -1, 7, 8],
    );
  }
  assert.equal(most, 2);
});

test('whoever asks from elsewhere does not wait for the whole line of another', async () => {
  const few = new FewInTurn(1);
  const order: string[] = [];
  const ask = (address: string): Promise<void> =>
    doFor(address, () =>
      few.run(async () => {
        order.push(address);
        await later();
      }),
    );
  const asked = Array.from({ length: 5 }, () => ask('192.0.2.1'));
  asked.push(ask('198.51.100.1'));
  await Promise.all(asked);
  assert.ok(order.indexOf('198.51.100.1') <= 2, `${order}`);
});

for (const [what, addresses, most] of [
  ['of four places one network has three', ['192.0.2.1', '192.0.2.2'], 3],
  ['two networks have all', ['192.0.2.1', '198.51.100.1'], 4],
] as const) {
  test(what, async () => {
    const few = new FewInTurn(4);
    let underWay = 0;
    let seen = 0;
    const work = async (): Promise<void> => {
      underWay += 1;
      seen = Math.max(seen, underWay);
      await later();
      underWay -= 1;
    };
    const all = addresses.flatMap((address) =>
      Array.from({ length: 8 }, () => doFor(address, () => few.run(work))),
    );
    await Promise.all(all);
    assert.equal(seen, most);
  });
}

test('whoever waits for a place does not wait for all other requests of the site that has it', async () => {
  const few = new FewInTurn(1);
  let isOver = false;
  let turns = 0;
  const others = Array.from({ length: 200 }, () =>
    doFor('192.0.2.1', async () => {
      while (!isOver) {
        await nextBreath();
        turns += 1;
      }
    }),
  );
  const long = doFor('192.0.2.1', () =>
    few.run(async () => {
      for (let step = 0; step < 50; step++) await nextBreath();
    }),
  );
  await doFor('198.51.100.1', () => few.run(() => {}));
  isOver = true;
  await Promise.all([long, ...others]);
  // As one of theirs it would be 10,000.
  assert.ok(turns < 2000, `${turns} turns of others`);
});
