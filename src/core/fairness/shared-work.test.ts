import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Outcome } from './piece.ts';
import { SharedWork } from './shared-work.ts';
import type { Shares } from './shares.ts';
import { SlowOnes } from './slow-ones.ts';
import { Tries } from './tries.ts';

const SHARES: Shares = {
  quick: { all: 9, site: 5, party: 3, line: 2 },
  slow: { all: 2, site: 1, party: 1, line: 1 },
  waiting: { all: 50, site: 40, party: 30, line: 20 },
  slow_ms: 2_000,
  silent_ms: 9_000,
  begin_ms: 8_000,
  begin_slow_ms: 3_000,
};

/** Work that ends when the test says so, at a time that the test sets. */
function start(slow = new SlowOnes(), clock = { now: 0 }, tries = new Tries(), shares = SHARES) {
  const running = new Map<string, (end?: Error | Outcome) => void>();
  const begun: string[] = [];
  const hurried: string[] = [];
  const stop = { now: false };
  const work = new SharedWork(
    shares,
    { slow, tries },
    () => stop.now,
    () => clock.now,
  );
  const offer = (id: string, [whom, party, site]: readonly string[], until = 0): void =>
    work.offer({
      id,
      whose: { whom: whom ?? '', party: party ?? '', site: site ?? '' },
      until,
      work(hurry) {
        begun.push(id);
        if (hurry) hurried.push(id);
        return new Promise((resolve, reject) => {
          running.set(id, (end) => (end instanceof Error ? reject(end) : resolve(end ?? 'done')));
        });
      },
    });
  const finish = async (id: string, end?: Error | Outcome): Promise<void> => {
    running.get(id)?.(end);
    running.delete(id);
    await setImmediate();
  };
  return { work, offer, finish, begun, hurried, running, clock, slow, stop, tries };
}

const many = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name}${at}`);

for (const [what, whoseOf, most] of [
  ['one party of one server', () => ['h', 'p', 's'], 2],
  ['one party of many servers', (at: number) => [`h${at}`, 'p', 's'], 3],
  ['two parties of one site', (at: number) => [`h${at}`, `p${at % 2}`, 's'], 3],
  ['one site', (at: number) => [`h${at}`, `p${at}`, 's'], 5],
  ['two sites', (at: number) => [`h${at}`, `p${at}`, `s${at % 2}`], 5],
  ['all', (at: number) => [`h${at}`, `p${at}`, `s${at}`], 9],
  ['parties of two sites at one server', (at: number) => ['h', `p${at % 2}`, `s${at % 2}`], 4],
] as const) {
  test(`at the same time no more goes on than ${what} may have`, () => {
    const { offer, begun } = start();
    for (const [at, id] of many('a', 12).entries()) offer(id, whoseOf(at));
    assert.equal(begun.length, most);
  });
}

test('parties and sites that have all that they may leave a place to one that has none', () => {
  for (const [third, mayBegin] of [
    [['h', 'third', 's0'], true],
    [['h', 'p0', 's0'], false],
    [['h', 'p0', 'third'], true],
  ] as const) {
    const { offer, begun } = start();
    for (const [at, id] of many('a', 12).entries()) offer(id, [`h${at}`, `p${at % 2}`, 's0']);
    for (const [at, id] of many('b', 12).entries()) offer(id, [`h${at}`, `p${at % 2}`, 's1']);
    offer('c', third);
    assert.equal(begun.includes('c'), mayBegin, third.join());
  }
});

/** One after the other offers as much as it may have, each piece at a server of its own. */
function fill(offer: ReturnType<typeof start>['offer'], whose: readonly (readonly string[])[]) {
  for (const [party, site] of whose.map(([party = '', site = '']) => [party, site] as const)) {
    for (const id of many(`${party}-`, 12)) offer(id, [id, party, site]);
  }
}

const WIDE: Shares = {
  ...SHARES,
  quick: { all: 24, site: 8, party: 4, line: 4 },
  slow: { all: 24, site: 8, party: 4, line: 4 },
};

for (const lane of ['quick', 'slow'] as const) {
  const isSlow = lane === 'slow';
  const startIn = () => {
    const slow = new SlowOnes();
    if (isSlow) slow.find = () => ({ silent: false });
    return start(slow, { now: 0 }, new Tries(), WIDE);
  };

  test(`of the ${lane} places of a site the second half is for parties that have none, one each`, () => {
    for (const [others, newcomer, mayBegin] of [
      [1, 'new', true],
      [4, 'new', true],
      [4, 'p0', false],
      [4, 'p3', false],
      [5, 'new', false],
    ] as const) {
      const { offer, begun } = startIn();
      const parties = Array.from({ length: others }, (_, at) => [`p${at}`, 's']);
      fill(offer, parties);
      assert.equal(begun.length, 3 + others);
      offer('late', ['h', newcomer, 's']);
      assert.equal(begun.includes('late'), mayBegin, `${newcomer} beside ${others}`);
    }
  });

  test(`of all ${lane} places the second half is for sites that have none, one each`, () => {
    for (const [others, newcomer, mayBegin] of [
      [1, 'new', true],
      [13, 'new', true],
      [13, 's0', false],
      [13, 's12', false],
      [14, 'new', false],
    ] as const) {
      const { offer, begun } = startIn();
      const sites = Array.from({ length: others }, (_, at) => `s${at}`);
      fill(
        offer,
        sites.flatMap((site) => ['p', 'q', 'r', 't', 'u'].map((party) => [party + site, site])),
      );
      offer('late', ['h', 'late', newcomer]);
      assert.equal(begun.includes('late'), mayBegin, `${newcomer} beside ${others}`);
    }
  });
}

test('of the places of those who are slow, too, a party leaves one to another that has none', () => {
  const slow = new SlowOnes();
  for (const key of [
    ['h0', 'p'],
    ['h1', 'p'],
    ['h2', 'q'],
  ])
    slow.note(JSON.stringify(key), 0, false);
  const shares = { ...SHARES, slow: { all: 8, site: 2, party: 2, line: 1 } };
  const { offer, begun } = start(slow, { now: 0 }, new Tries(), shares);
  offer('p0', ['h0', 'p', 's']);
  offer('p1', ['h1', 'p', 's']);
  offer('q', ['h2', 'q', 's']);
  assert.deepEqual(begun, ['p0', 'q']);
});

test('whoever is done makes place for the next at once, and one who never answers keeps no other waiting', async () => {
  const { offer, finish, begun, running } = start();
  for (const id of many('silent', 15)) offer(id, ['silent', 'bad', 'b']);
  for (const id of many('good', 15)) offer(id, ['good', 'good', 'g']);
  for (const id of many('good', 15)) await finish(id);
  assert.equal(begun.filter((id) => id.startsWith('good')).length, 15);
  assert.deepEqual([...running.keys()], ['silent0', 'silent1']);
});

test('of those that may begin that goes first which ends first', async () => {
  const { offer, finish, begun } = start();
  for (const [at, until] of [9, 9, 7, 3, 5].entries()) offer(`a${at}`, ['h', 'p', 's'], until);
  for (const id of ['a0', 'a1', 'a3']) await finish(id);
  assert.deepEqual(begun, ['a0', 'a1', 'a3', 'a4', 'a2']);
});

test('who did not answer in time has one place, while it does not and the next time', async () => {
  const { offer, finish, begun, clock, slow } = start();
  for (const id of many('a', 6)) offer(id, ['h', 'p', 's']);
  clock.now = 2_001;
  await finish('a0');
  assert.deepEqual(begun, ['a0', 'a1', 'a2']);
  await finish('a1');
  assert.deepEqual(begun, ['a0', 'a1', 'a2'], 'one place is taken');
  await finish('a2');
  assert.equal(begun.length, 4);
  const next = start(slow, clock);
  for (const id of many('b', 3)) next.offer(id, ['h', 'p', 's']);
  for (const id of many('c', 3)) next.offer(id, ['h', 'other', 'o']);
  assert.deepEqual(next.begun, ['b0', 'c0', 'c1'], 'others of the same server have theirs');
  clock.now += 30_001;
  const later = start(slow, clock);
  for (const id of many('d', 3)) later.offer(id, ['h', 'p', 's']);
  assert.deepEqual(later.begun, ['d0', 'd1'], 'forgotten');
});

test('what was silent is asked in a hurry the next time, what was only slow is not', async () => {
  for (const [took, hurried] of [
    [2_001, []],
    [9_001, ['b']],
  ] as const) {
    const { offer, finish, clock, slow } = start();
    offer('a', ['h', 'p', 's']);
    clock.now = took;
    await finish('a');
    const next = start(slow, clock);
    next.offer('b', ['h', 'p', 's']);
    assert.deepEqual(next.begun, ['b']);
    assert.deepEqual(next.hurried, hurried);
  }
});

test('a run begins nothing after its time, of slow ones sooner, and ends with what it began', async () => {
  const { work, offer, finish, begun, clock } = start();
  for (const id of many('slow', 4)) offer(id, ['slow', 'p', 's']);
  for (const id of many('quick', 6)) offer(id, ['quick', 'q', 't']);
  assert.equal(await work.hasRoomAgain(), false);
  clock.now = 3_000;
  for (const id of ['slow0', 'slow1', 'quick0']) await finish(id);
  assert.deepEqual(begun, ['slow0', 'slow1', 'quick0', 'quick1']);
  clock.now = 8_000;
  offer('late', ['new', 'n', 'n']);
  let ended = false;
  const end = work.end().then(() => {
    ended = true;
  });
  assert.equal(ended, false);
  await finish('quick1');
  await end;
  assert.deepEqual(begun, ['slow0', 'slow1', 'quick0', 'quick1']);
});

test('of more than may wait that is left out which ends last, and offered again once there is room', async () => {
  const { work, offer, finish, begun } = start();
  const offerAll = (): void => {
    for (const [at, id] of many('a', 30).entries()) offer(id, ['h', 'p', 's'], 100 - at);
  };
  offerAll();
  const room = work.hasRoomAgain();
  for (let at = 0; at < begun.length; at++) await finish(begun[at] ?? '');
  assert.deepEqual(begun.slice(2), many('a', 30).slice(10).reverse());
  assert.equal(await room, true);
  offerAll();
  for (let at = 0; at < begun.length; at++) await finish(begun[at] ?? '');
  assert.deepEqual([...begun].sort(), many('a', 30).sort(), 'each once');
  assert.equal(await work.hasRoomAgain(), false);
});

test('what was left out for others’ sake is offered again once something of theirs has begun, and not before', async () => {
  const { work, offer, finish, begun } = start();
  for (const id of many('h', 33)) offer(id, [id, 'p', 's']);
  offer('left out', ['j', 'p', 's']);
  let isTold = false;
  const room = work.hasRoomAgain().then((has) => {
    isTold = has;
  });
  await setImmediate();
  assert.equal(isTold, false, 'all that one party may have waits');
  await finish('h0');
  assert.equal(isTold, true);
  await room;
  offer('left out', ['j', 'p', 's']);
  for (let at = 0; at < begun.length; at++) await finish(begun[at] ?? '');
  assert.ok(begun.includes('left out'));
});

/** So many of each wait, the last of them first to go; what begins at once is not counted. */
type Crowd = [name: string, waiting: number, whose: readonly string[]][];

const ones = (count: number): Crowd =>
  many('one', count).map((name) => [name, 1, [name, 'p', 's']]);

for (const [what, crowd, newcomer, gone] of [
  [
    'the server that a party asks most',
    [
      ['h', 20, ['h', 'p', 's']],
      ['i', 10, ['i', 'p', 's']],
    ],
    ['j', 'p', 's'],
    'h19',
  ],
  [
    'the party of a site that asks most',
    [
      ['h', 20, ['h', 'p', 's']],
      ['i', 10, ['i', 'q', 's']],
      ['k', 10, ['k', 'p', 's']],
    ],
    ['h', 'r', 's'],
    'h19',
  ],
  [
    'its own of another server, where its party asks most',
    [
      ['h', 10, ['h', 'q', 's']],
      ['i', 20, ['i', 'p', 's']],
      ['k', 10, ['k', 'p', 's']],
    ],
    ['j', 'p', 's'],
    'i19',
  ],
  [
    'the site that asks most',
    [
      ['h', 10, ['h', 'p', 's']],
      ['i', 15, ['i', 'q', 't']],
      ['k', 20, ['k', 'r', 't']],
      ['l', 5, ['l', 'o', 'u']],
    ],
    ['h', 'n', 'u'],
    'k19',
  ],
  ['nobody, where each has no more than it would have', ones(30), ['j', 'p', 's'], 'new'],
  ...(
    [
      ['its own of another server, where its site asks most', 'j', 'h14'],
      ['nobody else, where it is what its site asks most', 'h', 'new'],
    ] as const
  ).map(([what, whom, gone]): [string, Crowd, readonly string[], string] => [
    what,
    [
      ['h', 15, ['h', 'p', 's']],
      ['i', 15, ['i', 'q', 's']],
      ['k', 20, ['k', 'r', 't']],
    ],
    [whom, 'p', 's'],
    gone,
  ]),
] as readonly [string, Crowd, readonly string[], string][]) {
  test(`where all places to wait are taken, who has fewest is given one of ${what}`, async () => {
    const first = start();
    const all = [...crowd.flatMap(([name, waiting]) => many(name, waiting)), 'new'];
    for (const id of all) first.tries.note(id);
    for (const [name, waiting, whose] of crowd) {
      for (const [at, id] of many(name, waiting).entries()) first.offer(id, whose, at);
    }
    first.offer('new', newcomer, 99);
    assert.deepEqual(first.begun, []);
    void first.work.hasRoomAgain();
    for (let at = 0; at < first.begun.length; at++) await first.finish(first.begun[at] ?? '');
    assert.deepEqual(
      all.filter((id) => !first.begun.includes(id)),
      [gone],
    );
  });
}

test('what was asked in vain goes behind what was not, and what was so longest ago goes first', async () => {
  const line = ['h', 'p', 's'];
  const first = start();
  for (const [at, id] of many('vain', 4).entries()) first.offer(id, line, at);
  for (const id of ['vain1', 'vain0', 'vain2']) await first.finish(id, 'in vain');
  await first.finish('vain3', 'not asked');
  const next = start(first.slow, first.clock, first.tries);
  for (const [at, id] of many('vain', 3).entries()) next.offer(id, line, at);
  assert.deepEqual(next.begun, [], 'not before all is offered');
  next.offer('vain3', line, 3);
  next.offer('new', line, 9);
  assert.deepEqual(next.begun, ['vain3', 'new'], 'what was not asked has had no try');
  assert.equal(await next.work.hasRoomAgain(), false);
  for (const id of ['vain3', 'new', 'vain1', 'vain0']) await next.finish(id);
  assert.deepEqual(next.begun, ['vain3', 'new', 'vain1', 'vain0', 'vain2']);
  await next.finish('vain2', 'in vain');
  const last = start(first.slow, first.clock, first.tries);
  for (const [at, id] of ['vain2', 'vain0', 'vain1'].entries()) last.offer(id, line, at);
  assert.deepEqual(last.begun, ['vain0', 'vain1'], 'what was done since is as good as new');
});

test('what was asked in vain, and what comes last, is asked however long it takes to offer all, and nothing long after that', async () => {
  const first = start();
  first.offer('vain', ['h', 'p', 's']);
  await first.finish('vain', 'in vain');
  const { work, offer, clock, begun } = start(first.slow, { now: 0 }, first.tries);
  offer('vain', ['h', 'p', 's']);
  clock.now = 60_000;
  assert.deepEqual(begun, []);
  offer('last', ['i', 'o', 't']);
  assert.deepEqual(begun, ['last'], 'what is offered last has its chance');
  assert.equal(await work.hasRoomAgain(), false);
  assert.deepEqual(begun, ['last', 'vain']);
  clock.now += SHARES.begin_ms - 1;
  offer('in time', ['j', 'q', 't']);
  clock.now += 1;
  offer('too late', ['k', 'r', 'u']);
  assert.deepEqual(begun, ['last', 'vain', 'in time']);
});

test('one that fails keeps none of the others waiting, goes behind them the next time, and is told at the end', async () => {
  const failing = start();
  for (const id of many('a', 4)) failing.offer(id, ['h', 'p', 's']);
  await failing.finish('a0', new Error('broken'));
  for (const id of ['a1', 'a2', 'a3']) await failing.finish(id);
  assert.deepEqual(failing.begun, many('a', 4));
  await assert.rejects(failing.work.end(), /broken/);
  assert.ok(failing.tries.find('a0') > 0);
  assert.equal(failing.tries.find('a1'), 0);
});

test('while it stops nothing more is begun', async () => {
  const stopped = start();
  for (const id of many('a', 4)) stopped.offer(id, ['h', 'p', 's']);
  stopped.stop.now = true;
  for (const id of ['a0', 'a1']) await stopped.finish(id);
  await stopped.work.end();
  assert.deepEqual(stopped.begun, ['a0', 'a1']);
});

test('what is offered and what ends takes as little where thousands of others wait', async () => {
  const WAITING = 8_000;
  /** Lines that were looked at for a place. */
  let looks = 0;
  const counted = (share: Shares['quick']): Shares['quick'] => ({
    ...share,
    get line() {
      looks += 1;
      return share.line;
    },
  });
  const shares: Shares = {
    ...SHARES,
    quick: counted(SHARES.quick),
    slow: counted(SHARES.slow),
    waiting: counted({ all: WAITING, site: WAITING, party: WAITING, line: 1 }),
  };
  const running: (() => void)[] = [];
  const work = new SharedWork(
    shares,
    { slow: new SlowOnes(), tries: new Tries() },
    () => false,
    () => 0,
  );
  for (let at = 0; at < WAITING; at++) {
    const whose = { whom: `h${at}`, party: `p${at % 100}`, site: `s${at % 20}` };
    const wait = (): Promise<Outcome> =>
      new Promise((resolve) => running.push(() => resolve('done')));
    work.offer({ id: `${at}`, whose, until: at, work: wait });
  }
  assert.ok(looks <= 2 * WAITING, `${looks} for all offers: at its own line alone`);
  for (let at = 0; at < 20; at++) {
    looks = 0;
    running[at]?.();
    await setImmediate();
    assert.ok(looks <= 2 * WAITING, `${looks} for an end: at each line once for each lane`);
  }
  assert.equal(running.length, SHARES.quick.all + 20);
});
