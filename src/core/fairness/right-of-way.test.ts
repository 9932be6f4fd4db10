import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { RightOfWay } from './right-of-way.ts';

const LONG = { longest_ms: 60_000, joining_ms: 60_000 };

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
  const way = new RightOfWay(LONG);
  await way.pass();
  assert.equal(await way.take(async () => 'done'), 'done');
  await assert.rejects(
    way.take(async () => Promise.reject(new Error('refused'))),
    /refused/,
  );
  await way.pass();
});

test('others wait for whoever goes first, which waits for nobody, nor does what it leads to', async () => {
  const way = new RightOfWay(LONG);
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
  const way = new RightOfWay(LONG);
  const { told, tell } = newStory();
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const takers = gates.map(({ promise }, at) =>
    tell(
      `taker ${at}`,
      way.takeAlone(() => promise),
    ),
  );
  await settled();
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

test('one at a time goes first alone, and of many from one address one before another address has its turn', async () => {
  const way = new RightOfWay(LONG);
  const order: string[] = [];
  let going = 0;
  const take = (address: string, name: string): Promise<void> =>
    doFor(address, () =>
      way.takeAlone(async () => {
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
  const way = new RightOfWay({ longest_ms: 1000, joining_ms: 60_000 });
  const { told, tell } = newStory();
  const gate = Promise.withResolvers<void>();
  let isOver: (() => boolean) | undefined;
  const slow = way.take(async (hold) => {
    isOver = () => hold.isOver;
    await gate.promise;
    // It has to wait like anybody else by now.
    assert.ok(!way.isMine);
  });
  await settled();
  const waiting = [
    tell('other', way.pass()),
    tell(
      'next',
      way.takeAlone(async () => {}),
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

/** So many that go first together once nobody else does, and how many of them do. */
function newCrowd(way: RightOfWay, many: number): { going(): number; open(): Promise<void> } {
  let going = 0;
  const gate = Promise.withResolvers<void>();
  const all = Array.from({ length: many }, () =>
    way.take(async () => {
      going += 1;
      await gate.promise;
    }),
  );
  return {
    going: () => going,
    open: async () => {
      gate.resolve();
      await Promise.all(all);
    },
  };
}

for (const [when, joining_ms, joins] of [
  ['as long as more may join', 60_000, true],
  ['later', 0, false],
] as const) {
  test(`all who wait to go first go together, ${joins ? 'and' : 'but not'} who comes ${when}`, async () => {
    const way = new RightOfWay({ longest_ms: 60_000, joining_ms });
    const { told, tell } = newStory();
    const gate = Promise.withResolvers<void>();
    const alone = way.takeAlone(() => gate.promise);
    const crowd = newCrowd(way, 20);
    await settled();
    assert.equal(crowd.going(), 0);
    gate.resolve();
    await alone;
    await settled();
    assert.equal(crowd.going(), 20);
    const other = tell('other', way.pass());
    const late = newCrowd(way, 1);
    await settled();
    assert.equal(late.going(), joins ? 1 : 0);
    assert.deepEqual(told, []);
    if (joins) await late.open();
    await crowd.open();
    await other;
    await late.open();
  });
}

test('who goes alone waits for those who go together, and they for none but the next alone', async () => {
  const way = new RightOfWay(LONG);
  const { told, tell } = newStory();
  const crowd = newCrowd(way, 3);
  await settled();
  const one = Promise.withResolvers<void>();
  const alone = [1, 2, 3].map((at) =>
    tell(
      `alone ${at}`,
      doFor('192.0.2.1', () => way.takeAlone(() => one.promise)),
    ),
  );
  await settled();
  assert.deepEqual(told, []);
  await crowd.open();
  await settled();
  const next = newCrowd(way, 3);
  await settled();
  assert.equal(next.going(), 0);
  one.resolve();
  await Promise.race(alone);
  await next.open();
  assert.ok(told.length <= 2, `${told}`);
  await Promise.all(alone);
});
