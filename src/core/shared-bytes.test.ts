import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Hold, SharedBytes } from './shared-bytes.ts';

function openHolds(): { shared: SharedBytes; hold(party: string): Hold; given: string[] } {
  const shared = new SharedBytes({ total: 100, each: 60 });
  const given: string[] = [];
  let count = 0;
  return {
    shared,
    given,
    hold(party) {
      const name = `${party}${++count}`;
      return shared.hold(party, () => given.push(name));
    },
  };
}

test('one too many of a party takes the place of its own oldest, and of nobody else’s', () => {
  const { shared, hold, given } = openHolds();
  assert.ok(hold('a').grow(10));
  assert.ok(hold('b').grow(30));
  assert.ok(hold('b').grow(30));
  assert.ok(hold('b').grow(20));
  assert.deepEqual(given, ['b2']);
  assert.equal(shared.held, 60);
});

test('one too many in all takes the place of the oldest of the party that has most', () => {
  const { shared, hold, given } = openHolds();
  assert.ok(hold('a').grow(30));
  assert.ok(hold('b').grow(30));
  assert.ok(hold('b').grow(30));
  assert.ok(hold('c').grow(20));
  assert.deepEqual(given, ['b2']);
  assert.equal(shared.held, 80);
});

test('nobody gives way to who has more, and nobody to themselves', () => {
  const { hold, given } = openHolds();
  assert.ok(hold('a').grow(30));
  assert.ok(hold('c').grow(20));
  const large = hold('b');
  assert.ok(large.grow(50));
  assert.equal(large.grow(5), false);
  assert.equal(large.grow(11), false);
  assert.deepEqual(given, []);
});

test('what is settled is counted, and not taken away', () => {
  const { shared, hold, given } = openHolds();
  const settled = hold('a');
  assert.ok(settled.grow(60));
  settled.settle();
  assert.equal(hold('a').grow(1), false);
  assert.ok(hold('b').grow(40));
  assert.deepEqual(given, []);
  settled.release();
  settled.release();
  assert.equal(shared.held, 40);
  assert.ok(hold('a').grow(60));
});
