import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from './asking.ts';
import { AskingPlaces } from './asking-places.ts';

test('there are as many places as were made, and one more only once one is given back', () => {
  const places = new AskingPlaces(2);
  assert.deepEqual([places.tryTake(), places.tryTake(), places.tryTake()], [true, true, false]);
  places.giveBack();
  assert.deepEqual([places.tryTake(), places.tryTake()], [true, false]);
});

test('a place that is given back is of whoever waits, not of who comes then', async () => {
  const places = new AskingPlaces(1);
  assert.ok(places.tryTake());
  const waiting = places.wait();
  places.giveBack();
  assert.ok(!places.tryTake());
  await waiting;
  places.giveBack();
  assert.ok(places.tryTake());
});

test('of those who wait a crowd from one address has one place before another address has its own', async () => {
  const places = new AskingPlaces(1);
  assert.ok(places.tryTake());
  const order: string[] = [];
  const ask = (address: string): Promise<void> =>
    doFor(address, async () => {
      await places.wait();
      order.push(address);
      places.giveBack();
    });
  const crowd = Array.from({ length: 5 }, () => ask('192.0.2.7'));
  const one = ask('198.51.100.9');
  places.giveBack();
  await Promise.all([...crowd, one]);
  assert.equal(order.indexOf('198.51.100.9'), 1, `${order}`);
});
