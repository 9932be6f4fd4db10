import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Asker, FairTurns, type Places } from './fair-turns.ts';

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
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
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
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
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
  for (const name of ['a1', 'a2', 'b1', 'c1', 'b2']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1', 'b2']);
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
  await end('a1');
  assert.deepEqual(begun, ['a0', 'a1', 'b']);
  await end('b');
  assert.equal(await other, 'b');
  for (let n = 2; n < 1000; n++) await end(`a${n}`);
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
  for (const name of ['a1', 'a2', 'b1', 'c1']) await end(name);
  await Promise.all(done);
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1']);
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
