import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { RightOfWay } from './right-of-way.ts';

const LONG_MS = 60_000;

/** What comes to pass, in its order. */
function newStory(): { told: string[]; tell(what: string, of: Promise<unknown>): Promise<void> } {
  const told: string[] = [];
  return {
    told,
    tell: async (what, of) => {
      await of;
      told.push(what);
    },
  };
}

/** Everything that waits for nobody has gone on by then. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('nobody waits while nobody goes first, nor once whoever did is done', async () => {
  const way = new RightOfWay(LONG_MS);
  await way.pass();
  assert.equal(await way.take(async () => 'done'), 'done');
  await assert.rejects(
    way.take(async () => Promise.reject(new Error('refused'))),
    /refused/,
  );
  await way.pass();
});

test('others wait for whoever goes first, which waits for nobody, nor does what it leads to', async () => {
  const way = new RightOfWay(LONG_MS);
  const { told, tell } = newStory();
  const gate = Promise.withResolvers<void>();
  const first = way.take(async () => {
    assert.ok(way.isMine);
    await way.pass();
    await way.take(() => way.pass());
    await gate.promise;
  });
  const done = [tell('first', first), tell('other', way.pass())];
  assert.ok(!way.isMine);
  await settled();
  assert.deepEqual(told, []);
  gate.resolve();
  await Promise.all(done);
  assert.deepEqual(told.toSorted(), ['first', 'other']);
});

test('who waits does so for one of those who go first, and not for the next one', async () => {
  const way = new RightOfWay(LONG_MS);
  const { told, tell } = newStory();
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const takers = gates.map(({ promise }, at) =>
    tell(
      `taker ${at}`,
      way.take(() => promise),
    ),
  );
  const early = tell('early', way.pass());
  gates[0]?.resolve();
  await early;
  await takers[0];
  const late = tell('late', way.pass());
  await settled();
  assert.deepEqual(told.toSorted(), ['early', 'taker 0']);
  gates[1]?.resolve();
  await Promise.all([...takers, late]);
});

test('one at a time goes first, and of many from one address one before another address has its turn', async () => {
  const way = new RightOfWay(LONG_MS);
  const order: string[] = [];
  let going = 0;
  const take = (address: string, name: string): Promise<void> =>
    doFor(address, () =>
      way.take(async () => {
        going += 1;
        assert.equal(going, 1);
        order.push(name);
        await settled();
        going -= 1;
      }),
    );
  const crowd = Array.from({ length: 8 }, (_, at) => take('192.0.2.7', `crowd ${at}`));
  const one = take('198.51.100.9', 'one');
  await Promise.all([...crowd, one]);
  assert.equal(order.length, 9);
  assert.ok(order.indexOf('one') <= 2, `${order}`);
});

test('who takes too long is waited for no longer, by others and by the next one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const way = new RightOfWay(1000);
  const { told, tell } = newStory();
  const gate = Promise.withResolvers<void>();
  let isOver: (() => boolean) | undefined;
  const slow = way.take(async (hold) => {
    isOver = () => hold.isOver;
    await gate.promise;
    // It has to wait like anybody else by now.
    assert.ok(!way.isMine);
  });
  const waiting = [
    tell('other', way.pass()),
    tell(
      'next',
      way.take(async () => {}),
    ),
  ];
  t.mock.timers.tick(999);
  await settled();
  assert.deepEqual(told, []);
  assert.equal(isOver?.(), false);
  t.mock.timers.tick(1);
  await Promise.all(waiting);
  assert.equal(isOver?.(), true);
  gate.resolve();
  await slow;
});
