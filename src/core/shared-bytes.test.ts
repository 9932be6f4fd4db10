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

const network = (n: number): string => `2001:db8:7:${n.toString(16)}::/64`;

test('networks of one site have together what one address has', () => {
  const { shared, hold, given } = openHolds();
  for (let n = 0; n < 12; n++) assert.ok(hold(network(n)).grow(10));
  assert.equal(shared.held, 60);
  assert.deepEqual(
    given,
    Array.from({ length: 6 }, (_, n) => `${network(n)}${n + 1}`),
  );
  assert.ok(hold('a').grow(40), 'the rest is for others');
  assert.ok(
    hold('b').grow(30),
    'and the site gives way as the largest, though each of it has little',
  );
  assert.equal(given.length, 9);
  assert.ok(given.every((name) => name.startsWith('2001:')));
});

test('of one site the party gives way that has much, not who is first', () => {
  const { hold, given } = openHolds();
  assert.ok(hold(network(1)).grow(5));
  assert.ok(hold(network(2)).grow(25));
  assert.ok(hold(network(2)).grow(25));
  assert.ok(hold(network(3)).grow(20));
  assert.deepEqual(given, [`${network(2)}2`]);
  const large = hold(network(4));
  assert.ok(large.grow(10));
  assert.ok(large.grow(15), 'a network that had as much gives way');
  assert.deepEqual(given, [`${network(2)}2`, `${network(2)}3`]);
  assert.equal(large.grow(11), false, 'those that have less do not');
  assert.equal(given.length, 2);
});
