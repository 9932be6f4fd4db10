import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import type { Measured } from '../../metrics/meters.operations.ts';
import { AllMeters } from './measuring.ts';

const measuredOf = (count: number): Measured => ({
  durations: new Map(),
  requests: new Map([['read', new Map([[200, count]])]]),
  public_reads: new Map(),
  store: {
    ...{ waiting: 0, in_flight: 0, batches: 0, sets: 0, refused: 0, largest_batch: 0 },
    alive: true,
  },
  loop_delays: new Map(),
  heap_used: 0,
  external: 0,
});

function threadOf(ask: () => Promise<unknown>) {
  return { dialogue: { ask } as never, measured: undefined as Measured | undefined };
}

const countOf = (all: readonly Measured[]): number =>
  all.reduce((sum, { requests }) => sum + (requests.get('read')?.get(200) ?? 0), 0);

test('a thread that ends while it is asked has counted what it told last, once', async () => {
  const meters = new AllMeters();
  const other = threadOf(async () => measuredOf(5));
  const held = Promise.withResolvers<unknown>();
  let answer: () => Promise<unknown> = async () => measuredOf(3);
  const dying = threadOf(() => answer());
  assert.equal(countOf(await meters.read([dying, other])), 8);

  answer = () => held.promise;
  const reading = meters.read([dying, other]);
  meters.lose(dying);
  held.reject(new Failure('unavailable', 'the thread has ended'));
  assert.equal(countOf(await reading), 8);
  assert.equal(countOf(await meters.read([other])), 8);
});

test('one that ends when it has told what it counts, and before others have, has counted that', async () => {
  const meters = new AllMeters();
  const held = Promise.withResolvers<unknown>();
  const slow = threadOf(() => held.promise);
  const dying = threadOf(async () => measuredOf(3));
  const reading = meters.read([dying, slow]);
  await new Promise((resolve) => setTimeout(resolve, 10));
  meters.lose(dying);
  held.resolve(measuredOf(5));
  assert.equal(countOf(await reading), 8);
  assert.equal(countOf(await meters.read([slow])), 8);
});
