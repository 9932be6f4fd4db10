import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import type { Asker } from './asker.ts';
import { FairTurns, type Places } from './fair-turns.ts';

/** A queue whose work ends when it is told to; `begun` tells the order. */
function open(places: Places) {
  const turns = new FairTurns(places, (why) => new Error(why));
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, more: Partial<Asker> = {}): Promise<string> =>
    turns.take({ party: name.slice(0, 1), ...more }, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, () => resolve(name)));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { turns, begun, ask, end };
}

const ROOMY: Places = { at_once: 1, waiting: 100, waiting_each: 100 };

test('parties take turns, each in its own order', async () => {
  const { begun, ask, end } = open(ROOMY);
  const done = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ask(name));
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('no more goes on than may, and what fails gives its turn back', async () => {
  const { turns, begun, ask, end } = open({ ...ROOMY, at_once: 2 });
  const failing = turns.take({ party: 'x' }, () => Promise.reject(new Error('broken')));
  const done = ['a1', 'b1', 'c1'].map((name) => ask(name));
  await assert.rejects(failing, /broken/);
  await end('');
  assert.deepEqual(begun, ['a1', 'b1']);
  await end('b1');
  assert.deepEqual(begun, ['a1', 'b1', 'c1']);
  for (const name of ['a1', 'c1']) await end(name);
  await Promise.all(done);
});

test('of long work one party has no more than its part, also when nobody else asks', async () => {
  const { begun, ask, end } = open({ ...ROOMY, at_once: 3, at_once_each: 2 });
  const done = ['a1', 'a2', 'a3', 'b1'].map((name) => ask(name));
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
  await end('b1');
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
  await end('a1');
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3']);
  for (const name of ['a2', 'a3']) await end(name);
  await Promise.all(done);
});

test('a party that has its part of the places is refused at once, another is not', async () => {
  const { turns, ask, end } = open({ at_once: 1, waiting: 10, waiting_each: 2 });
  const done = ['a1', 'a2', 'a3'].map((name) => ask(name));
  await assert.rejects(ask('a4'), { message: 'refused' });
  done.push(ask('b1'));
  assert.equal(turns.waiting, 3);
  for (const name of ['a1', 'b1', 'a2', 'a3']) await end(name);
  await Promise.all(done);
  assert.equal(turns.waiting, 0);
});

test('when all places are taken, whoever has most gives the newest up', async () => {
  const { begun, ask, end } = open({ at_once: 1, waiting: 4, waiting_each: 3 });
  const done = ['a1', 'a2', 'b1', 'b2', 'b3'].map((name) => ask(name));
  const dropped = assert.rejects(done.pop() ?? Promise.resolve(), { message: 'refused' });
  done.push(ask('c1'));
  await dropped;
  // Now a has one place, b two and c one: nobody has two more than somebody new would have.
  await assert.rejects(ask('c2'), { message: 'refused' });
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'b2']);
});

test('whoever has gone is not served, and leaves a place', async () => {
  const { turns, begun, ask, end } = open({ at_once: 1, waiting: 2, waiting_each: 2 });
  let go = (): void => {};
  let listening = 0;
  const onGone = (listener: () => void) => {
    go = listener;
    listening += 1;
    return () => {
      listening -= 1;
    };
  };
  const first = ask('a1');
  const leaving = assert.rejects(ask('a2', { onGone }), { message: 'gone' });
  const last = ask('a3', { onGone: () => () => {} });
  go();
  await leaving;
  assert.equal(listening, 0);
  assert.equal(turns.waiting, 1);
  await end('a1');
  assert.deepEqual(begun, ['a1', 'a3']);
  await end('a3');
  await Promise.all([first, last]);
});

test('a thousand of one party do not hold up one of another', async () => {
  const { begun, ask, end } = open({ ...ROOMY, waiting: 1000, waiting_each: 1000 });
  const flood = Array.from({ length: 1000 }, (_, n) => ask(`a${n}`));
  const other = ask('b');
  await end('a0');
  assert.deepEqual(begun, ['a0', 'b']);
  await end('b');
  assert.equal(await other, 'b');
  for (let n = 1; n < 1000; n++) await end(`a${n}`);
  await Promise.all(flood);
});

test('what is heavy has as many places as its weight, and gives as many up', async () => {
  const { turns, begun, ask, end } = open({ at_once: 1, waiting: 10, waiting_each: 8 });
  const done = [ask('a1'), ask('a2', { weight: 4 })];
  const dropped = assert.rejects(ask('a3', { weight: 4 }), { message: 'refused' });
  await assert.rejects(ask('a4', { weight: 1 }), { message: 'refused' });
  done.push(ask('b1', { weight: 2 }));
  assert.equal(turns.waiting, 10);
  // Now a has eight places, and as many as somebody new would have without the last four of them.
  assert.equal(turns.hasPlaceFor({ party: 'c', weight: 5 }), false);
  assert.equal(turns.hasPlaceFor({ party: 'c', weight: 4 }), true);
  done.push(ask('c1', { weight: 4 }));
  await dropped;
  for (const name of ['a1', 'b1', 'c1', 'a2']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2']);
  assert.equal(turns.waiting, 0);
});

test('who waits with light work has his turn before a flood of heavy work', async () => {
  const { begun, ask, end } = open({ at_once: 2, at_once_each: 1, waiting: 100, waiting_each: 60 });
  const flood = ['a1', 'a2', 'a3', 'a4'].map((name) => ask(name, { weight: 20 }));
  await assert.rejects(ask('a5', { weight: 20 }), { message: 'refused' });
  const other = ask('b1');
  assert.deepEqual(begun, ['a1', 'b1']);
  await end('b1');
  assert.equal(await other, 'b1');
  for (const name of ['a1', 'a2', 'a3', 'a4']) await end(name);
  await Promise.all(flood);
});

/** A queue of passwords as it is, with work that ends when it is told to. */
const RANKED: Places = { ...ROOMY, waiting: 8, waiting_each: 4, preference: [0, 1, 0, 2] };

async function endAll(begun: readonly string[], end: (name: string) => Promise<void>) {
  for (let at = 0; at < begun.length; at++) await end(begun[at] ?? '');
}

test('a network of many addresses has no more turns than one of a single address', async () => {
  const { begun, ask, end } = open(ROOMY);
  const done = ['a', 'b', 'c', 'd'].map((name) => ask(name, { site: 'abcd' }));
  done.push(ask('x1'), ask('x2'), ask('x3'));
  await endAll(begun, end);
  await Promise.all(done);
  assert.deepEqual(begun, ['a', 'x1', 'b', 'x2', 'c', 'x3', 'd']);
});

test('who had no turn yet goes before those who come again and again', async () => {
  const { begun, ask, end } = open(ROOMY);
  const done = ['a1', 'b1', 'c1'].map((name) => ask(name));
  await end('a1');
  await end('b1');
  done.push(ask('a2'), ask('b2'), ask('d1'));
  await endAll(begun, end);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'd1', 'a2', 'b2']);
});

test('each rank has its turns, and those of a rank of which nobody waits go to the lowest', async () => {
  const { begun, ask, end } = open({ ...RANKED, waiting: 100, waiting_each: 100 });
  const many = (name: string, rank: number, count: number): Promise<string>[] =>
    Array.from({ length: count }, (_, n) => ask(`${name}${n}`, { rank }));
  const done = [ask('-'), ...many('a', 2, 4), ...many('b', 1, 3), ...many('c', 0, 4)];
  await endAll(begun, end);
  await Promise.all(done);
  const ranks = begun.map((name) => name.slice(0, 1)).join('');
  assert.equal(ranks, '-bcacbcacbaa');
});

test('for a lower rank a higher one gives way, never the reverse, whoever has most', async () => {
  const { turns, ask, begun, end } = open(RANKED);
  const done = [ask('-'), ...['a1', 'a2', 'b1', 'c1'].map((name) => ask(name, { rank: 1 }))];
  done.push(...['d1', 'd2', 'd3'].map((name) => ask(name, { rank: 0 })));
  const highest = assert.rejects(ask('e1', { rank: 2 }), { message: 'refused' });
  await assert.rejects(ask('e2', { rank: 2 }), { message: 'refused' });
  done.push(ask('d4', { rank: 0 }));
  await highest;
  const next = assert.rejects(done.splice(2, 1)[0] ?? Promise.resolve(), { message: 'refused' });
  done.push(ask('g1', { rank: 0 }));
  await next;
  assert.equal(turns.hasPlaceFor({ party: 'd', rank: 0 }), false, 'all that one party may have');
  assert.equal(turns.hasPlaceFor({ party: 'f', rank: 2 }), false);
  assert.equal(turns.hasPlaceFor({ party: 'f', rank: 0 }), true);
  await endAll(begun, end);
  await Promise.all(done);
});

test('who shares an address with a flood has a place of it, when known to be another', async () => {
  const { turns, ask, begun, end } = open(RANKED);
  const flood = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => ask(name, { rank: 2 }));
  const dropped = assert.rejects(flood.pop() ?? Promise.resolve(), { message: 'refused' });
  assert.equal(turns.hasPlaceFor({ party: 'a', rank: 2 }), false);
  const known = ask('a!', { rank: 0 });
  await dropped;
  await endAll(begun, end);
  await Promise.all([...flood, known]);
  assert.deepEqual(begun, ['a1', 'a!', 'a2', 'a3', 'a4']);
});

test('all places taken by one each: who comes first of all takes one of those served before', async () => {
  const { turns, ask, begun, end } = open({ at_once: 1, waiting: 3, waiting_each: 3 });
  const done = ['a1', 'b1', 'c1', 'd1'].map((name) => ask(name));
  assert.equal(turns.hasPlaceFor({ party: 'x' }), false, 'nobody was served but a');
  await end('a1');
  await end('b1');
  done.push(ask('a2'));
  const again = ask('b2');
  const dropped = assert.rejects(again, { message: 'refused' });
  assert.equal(turns.hasPlaceFor({ party: 'a' }), false, 'who waits has no second place');
  done.push(ask('x1'));
  await dropped;
  await assert.rejects(ask('b3'), { message: 'refused' });
  await endAll(begun, end);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'd1', 'x1', 'a2']);
});

test('the networks of a household take no more places than one, and none from who is alone', async () => {
  const { turns, ask, begun, end } = open({ at_once: 1, waiting: 6, waiting_each: 6 });
  const home = Array.from({ length: 7 }, (_, n) => ask(`${n}`, { site: 'home' }));
  const dropped = home.splice(4).map((one) => assert.rejects(one, { message: 'refused' }));
  const done = ['x1', 'y1', 'z1'].map((name) => ask(name));
  await Promise.all(dropped);
  assert.equal(turns.hasPlaceFor({ party: '9', site: 'home' }), false);
  await endAll(begun, end);
  await Promise.all([...home, ...done]);
  assert.deepEqual(begun, ['0', 'x1', 'y1', 'z1', '1', '2', '3']);
});

test('who waits too long is refused, and nobody who would', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const places: Places = { at_once: 2, waiting: 100, waiting_each: 100, longest_wait_ms: 1000 };
  const turns = new FairTurns(
    places,
    (why) => new Error(why),
    () => now,
  );
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (name: string): Promise<void> =>
    turns.take({ party: name }, () => {
      begun.push(name);
      return new Promise((resolve) => ends.push(resolve));
    });
  const first = ask('first');
  now += 250;
  ends[0]?.();
  await first;
  // At 250 ms each eight are through in a second, two at a time.
  const running = [ask('a'), ask('b')];
  const waiting = Array.from({ length: 8 }, (_, n) => ask(`w${n}`));
  await assert.rejects(ask('one too many'), { message: 'refused' });
  t.mock.timers.tick(999);
  ends[1]?.();
  await running[0];
  assert.equal(turns.waiting, 7);
  const late = waiting.slice(1).map((one) => assert.rejects(one, { message: 'refused' }));
  t.mock.timers.tick(1);
  await Promise.all(late);
  assert.equal(turns.waiting, 0);
  assert.deepEqual(begun, ['first', 'a', 'b', 'w0']);
  for (const end of ends) end();
  await Promise.all([...running, waiting[0]]);
});

test('who waits too long for work that takes its time is refused, and nobody before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const turns = new FairTurns(
    { at_once: 1, waiting: 8, waiting_each: 8, longest_patience_ms: 1_000 },
    (why) => new Error(why),
    () => now,
  );
  // At ten seconds each not even one is through in time.
  await turns.take({ party: 'a' }, async () => {
    now += 10_000;
  });
  const first = Promise.withResolvers<void>();
  const done = turns.take({ party: 'a' }, () => first.promise);
  const refused: string[] = [];
  const note = ({ message }: Error): number => refused.push(message);
  const waiting = Array.from({ length: 8 }, () => turns.take({ party: 'a' }, async () => {}));
  const noted = waiting.map((one) => one.catch(note));
  t.mock.timers.tick(999);
  assert.equal(turns.waiting, 8);
  t.mock.timers.tick(1);
  await Promise.all(noted);
  assert.deepEqual(refused, Array(8).fill('refused'));
  first.resolve();
  await done;
});

test('heavy work is not refused for taking long where nobody waits', async () => {
  let now = 0;
  const places: Places = { at_once: 2, waiting: 4096, waiting_each: 1024, longest_wait_ms: 5_000 };
  const turns = new FairTurns(
    places,
    (why) => new Error(why),
    () => now,
  );
  const heavy = { party: 'a', weight: 224 };
  // A unit of weight takes ten milliseconds, so that a thousand are through in time.
  await turns.take(heavy, async () => {
    now += 2_240;
  });
  const ends: (() => void)[] = [];
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
  const done = [turns.take(heavy, work), turns.take(heavy, work)];
  assert.equal(turns.hasPlaceFor(heavy), true);
  done.push(turns.take(heavy, work));
  assert.equal(turns.hasPlaceFor({ party: 'b', weight: 776 }), true);
  assert.equal(turns.hasPlaceFor({ party: 'b', weight: 777 }), false, 'more than is through');
  for (const end of ends) end();
  await Promise.all(done.slice(0, 2));
  ends.at(-1)?.();
  await Promise.all(done);
});

test('with thousands of parties waiting, one more costs next to nothing', async () => {
  for (const siteOf of [(n: number) => `site ${n}`, () => 'site']) {
    const turns = new FairTurns(
      { at_once: 1, waiting: 4096, waiting_each: 1024 },
      (why) => new Error(why),
    );
    const never = (): Promise<void> => new Promise(() => {});
    const asker = (n: number): Asker => ({ party: `party ${n}`, site: siteOf(n) });
    for (let n = 0; n <= 4096; n++) void turns.take(asker(n), never);
    assert.equal(turns.waiting, 4096);
    await spendsAtMost(150, () => {
      for (let n = 0; n < 200; n++) turns.hasPlaceFor(asker(5_000 + n));
    });
  }
});

const at = (network: number, n: number): Asker => ({ party: `198.51.${network}.${n}` });

test('neighbours have no more turns than a network of a single address, and go round among themselves', async () => {
  const { begun, ask, end } = open(ROOMY);
  const done = Array.from({ length: 9 }, (_, n) => ask(`a${n}`, at(1, n % 4)));
  done.push(...['b1', 'b2', 'b3'].map((name) => ask(name, at(2, 1))));
  const order = ['a0', 'b1', 'a1', 'b2', 'a2', 'b3', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8'];
  for (const name of order) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, order);
});

const running: [what: string, places: Partial<Places>, of: number[], begun: number][] = [
  ['all, where a site may have all', { at_once: 4 }, [1, 1, 1, 1], 4],
  ['three quarters, where a site may not', { at_once: 4, at_once_site: 2 }, [1, 1, 1, 1], 3],
  ['the rest is for others', { at_once: 4, at_once_site: 2 }, [1, 1, 1, 1, 2], 4],
  ['as many as a site', { at_once: 2, at_once_site: 1 }, [1, 1], 1],
  ['beside another network', { at_once: 2, at_once_site: 1 }, [1, 1, 2], 2],
];
for (const [what, places, of, count] of running) {
  test(`neighbours have of the places at once: ${what}`, async () => {
    const { turns, begun, ask, end } = open({ ...ROOMY, ...places });
    const names = of.map((network, n) => [`w${n}`, at(network, n + 1)] as const);
    const done = names.map(([name, asker]) => ask(name, asker));
    assert.equal(begun.length, count);
    assert.equal(turns.running, count);
    while (turns.running > 0) for (const [name] of names) await end(name);
    await Promise.all(done);
    assert.equal(begun.length, of.length);
  });
}

test('all places to wait are taken by neighbours: who comes from elsewhere takes one, and so does the next', async () => {
  const { turns, begun, ask, end } = open({ at_once: 1, waiting: 5, waiting_each: 5 });
  const crowd = Array.from({ length: 6 }, (_, n) =>
    ask(`a${n}`, at(1, n + 1)).catch(() => `no a${n}`),
  );
  assert.equal(turns.hasPlaceFor(at(1, 77)), false, 'not for one more of them');
  const others = ['b1', 'b2'].map((name) => ask(name, at(2, 1)));
  assert.equal(turns.waiting, 5);
  while (turns.running > 0) for (const name of [...begun]) await end(name);
  assert.deepEqual(await Promise.all(others), ['b1', 'b2']);
  assert.equal((await Promise.all(crowd)).filter((name) => name.startsWith('no')).length, 2);
  assert.deepEqual(begun.slice(0, 2), ['a0', 'b1']);
});
