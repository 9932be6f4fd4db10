import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connections } from './connections.ts';

/** Requests that last until they are let go. */
function openRequests() {
  const refuse = (): Error => new Error('no place');
  const store = { at_once: 4, at_once_each: 2, waiting: 8, waiting_each: 4 };
  const most = { at_once: 6, at_once_each: 3, waiting: 8, waiting_each: 8 };
  const all = { fresh: most, quick: most, slow: most, overdue: 3, slow_ms: 2_000 };
  const connections = new Connections({ store, all }, refuse);
  const running: { name: string; end(): void }[] = [];
  const refused: string[] = [];
  const ask = (store: string, party: string, count: number): void => {
    for (let at = 0; at < count; at++) {
      const name = `${store} ${party}`;
      const work = () =>
        new Promise<void>((end) => {
          running.push({ name, end });
        });
      connections.take(store, { party }, work).catch(() => refused.push(name));
    }
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const count = (name: string): number => running.filter((one) => one.name === name).length;
  return { connections, running, refused, ask, settle, count };
}

test('to one store there are few connections, of one address fewer, and others are not held up', async () => {
  const { ask, settle, count, running } = openRequests();
  ask('slow', 'a', 4);
  ask('slow', 'b', 3);
  ask('other', 'c', 2);
  await settle();
  assert.deepEqual([count('slow a'), count('slow b'), count('other c')], [2, 2, 2]);
  assert.equal(running.length, 6);
});

test('those of one address to all stores are few, and all together', async () => {
  const { ask, settle, count, running } = openRequests();
  for (const store of ['s1', 's2', 's3', 's4']) ask(store, 'a', 2);
  await settle();
  assert.equal(running.length, 3);
  for (const store of ['s1', 's2', 's3']) ask(store, 'b', 2);
  await settle();
  assert.equal(running.length, 6, 'three of each');
  ask('s9', 'c', 1);
  await settle();
  assert.equal(count('s9 c'), 0);
  running[0]?.end();
  await settle();
  assert.equal(count('s9 c'), 1, 'who had none goes first');
});

test('who waits has an end, and stores that nobody asks are forgotten', async () => {
  const { ask, settle, running, refused, connections } = openRequests();
  ask('slow', 'a', 7);
  await settle();
  assert.equal(refused.length, 1, 'two go on and four wait');
  assert.equal(connections.stores, 1);
  for (let at = 0; at < 6; at++) {
    running[at]?.end();
    await settle();
  }
  assert.equal(connections.stores, 0);
});

test('stores that never answer keep no place of those that were quick, and new ones wait for them', async () => {
  const { ask, settle, count, running } = openRequests();
  ask('vault', 'good', 1);
  await settle();
  running[0]?.end();
  await settle();
  for (const store of ['s1', 's2', 's3']) for (const party of ['a', 'b']) ask(store, party, 1);
  await settle();
  ask('new', 'good', 1);
  ask('vault', 'good', 1);
  await settle();
  assert.deepEqual([count('new good'), count('vault good')], [0, 2]);
});
