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
  assert.ok(hold('a').grow(25));
  assert.ok(hold('c').grow(20));
  const large = hold('b');
  assert.ok(large.grow(30));
  assert.equal(large.grow(5), false);
  assert.equal(large.grow(31), false);
  assert.deepEqual(given, []);
});

test('what is settled is counted, and not taken away', () => {
  const { shared, hold, given } = openHolds();
  const settled = hold('a');
  assert.ok(settled.grow(60));
  settled.settle();
  assert.equal(hold('a').grow(1), false);
  assert.ok(hold('b').grow(20));
  assert.deepEqual(given, []);
  settled.release();
  settled.release();
  assert.equal(shared.held, 20);
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
  assert.ok(hold('a').grow(20), 'others find room beside it');
  assert.equal(given.length, 6);
  assert.ok(
    hold('b').grow(20),
    'and the site gives way as the largest, though each of it has little',
  );
  assert.equal(given.length, 8);
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

/** Of each of so many addresses of a network, so many bytes. */
type Kept = [network: number, addresses: number, bytes: number][];

const atAddress = (network: number, address: number): string => `198.51.${network}.${address}`;

const asked: [what: string, kept: Kept, party: string, bytes: number, gives: string[]][] = [
  ['a network has three quarters', [[1, 7, 10]], '198.51.1.9', 5, []],
  ['one too many of it takes the place of its own', [[1, 7, 10]], '198.51.1.9', 6, ['198.51.1.1']],
  ['others find room beside it', [[1, 7, 10]], '203.0.113.1', 14, []],
  [
    'of it that of the address that has most',
    [
      [1, 7, 7],
      [1, 1, 13],
      [1, 2, 6],
    ],
    '198.51.1.9',
    6,
    ['198.51.1.1'],
  ],
  [
    'one too many of another takes that of the network that has most, though each of its addresses has little',
    [[1, 7, 10]],
    '203.0.113.1',
    15,
    ['198.51.1.1'],
  ],
  [
    'of that network the addresses that have most give way',
    [
      [1, 6, 5],
      [1, 5, 8],
    ],
    '203.0.113.1',
    22,
    ['198.51.1.1', '198.51.1.2'],
  ],
  [
    'for a network that has less others give way, though of theirs each has less than the asker',
    [
      [1, 7, 7],
      [2, 1, 30],
    ],
    '198.51.2.1',
    6,
    ['198.51.1.1'],
  ],
  [
    'for the network that has most nobody else does',
    [
      [1, 1, 30],
      [2, 6, 8],
    ],
    '198.51.2.9',
    8,
    ['198.51.2.1'],
  ],
  [
    'nor for the address that has most',
    [
      [1, 1, 36],
      [2, 1, 38],
    ],
    '198.51.2.1',
    6,
    ['198.51.2.1'],
  ],
];
for (const [what, kept, party, bytes, gives] of asked) {
  test(`networks share what may be kept: ${what}`, () => {
    const { shared, given } = openHolds();
    let left = 0;
    for (const [network, addresses, each] of kept) {
      for (let n = 1; n <= addresses; n++) {
        const at = atAddress(network, n);
        const giveUp = () => {
          given.push(at);
          left -= each;
        };
        assert.ok(shared.hold(at, giveUp).grow(each));
        left += each;
      }
    }
    assert.ok(shared.hold(party, () => {}).grow(bytes));
    assert.deepEqual(given, gives);
    assert.equal(shared.held, left + bytes);
  });
}

test('what a network has is settled: others of it find no room, and those of another network do', () => {
  const { shared, given } = openHolds();
  const holds = Array.from({ length: 7 }, (_, n) =>
    shared.hold(atAddress(1, n + 1), () => given.push('')),
  );
  for (const hold of holds) {
    assert.ok(hold.grow(10));
    hold.settle();
  }
  assert.equal(shared.hold(atAddress(1, 99), () => {}).grow(6), false);
  assert.ok(shared.hold(atAddress(2, 1), () => {}).grow(14));
  assert.deepEqual(given, []);
  assert.equal(shared.heldOfNetwork('198.51.1.0/24'), 70);
  assert.deepEqual(shared.most, { network: 70, site: 10 });
  for (const hold of holds) hold.release();
  assert.equal(shared.heldOfNetwork('198.51.1.0/24'), 0);
  assert.deepEqual(shared.most, { network: 14, site: 14 });
});

/** Of each of so many networks, what each of its addresses has, and will not give back. */
type Settled = readonly (readonly number[])[];

const lastBytes: [what: string, settled: Settled, party: string, most: number, limits?: object][] =
  [
    ['alone a network has three quarters', [[60]], '198.51.1.9', 15],
    ['and a site what a site may have', [], '198.51.1.9', 60],
    ['beside one that has its three quarters', [[60, 15]], '203.0.113.1', 10],
    ['beside two of which the second has as much as it finds', [[60, 15], [10]], '203.0.113.1', 4],
    ['beside two that have as much as each other', [[38], [38]], '203.0.113.1', 10],
    ['of one of these', [[38], [38]], '198.51.2.9', 3],
    [
      'of one that has less the sites have together what a network may',
      [[60, 15], [10]],
      '198.51.2.9',
      1,
    ],
    ['where the last bytes are fewer', [[60, 15], [10]], '203.0.113.1', 9, { last: 10 }],
  ];
for (const [what, settled, party, most, limits] of lastBytes) {
  test(`of the last bytes less is given the less is left: ${what}`, () => {
    for (const [bytes, isFound] of [
      [most, true],
      [most + 1, false],
    ] as const) {
      const shared = new SharedBytes({ total: 100, each: 60, ...limits });
      for (const [network, addresses] of settled.entries()) {
        for (const [address, kept] of addresses.entries()) {
          const hold = shared.hold(atAddress(network + 1, address + 1), assert.fail);
          assert.ok(hold.grow(kept));
          hold.settle();
        }
      }
      assert.equal(shared.hold(party, assert.fail).grow(bytes), isFound, `${bytes}`);
    }
  });
}

/** Keeps as much for an address as there is room for. */
function fill(shared: SharedBytes, party: string): number {
  let kept = 0;
  for (let bytes = 32 << 20; bytes >= 1; ) {
    const hold = shared.hold(party, assert.fail);
    if (hold.grow(bytes)) {
      hold.settle();
      kept += bytes;
    } else bytes = Math.floor(bytes / 2);
  }
  return kept;
}

const fillings: [networks: number, another: number][] = [
  [1, 6 << 20],
  [2, 2 << 20],
  [10, 64 << 10],
  [40, 10 << 10],
  [100, 2 << 10],
];
for (const [networks, another] of fillings) {
  test(`however much ${networks} networks have settled, one after the other, another finds ${another} bytes`, () => {
    const shared = new SharedBytes({ total: 64 << 20, each: 32 << 20 });
    for (let n = 0; n < networks; n++) {
      for (const address of [1, 2]) fill(shared, atAddress(n, address));
    }
    assert.ok(fill(shared, '203.0.113.1') >= another);
  });
}

test('what nobody gives up does not keep what others of its network could from giving way', () => {
  const { shared, given } = openHolds();
  const settled = shared.hold(atAddress(1, 1), assert.fail);
  assert.ok(settled.grow(40));
  settled.settle();
  assert.ok(shared.hold(atAddress(1, 2), () => given.push('open')).grow(30));
  assert.ok(shared.hold(atAddress(2, 1), assert.fail).grow(20));
  assert.deepEqual(given, ['open']);
});

test('where the network that has most gives up nothing, the own oldest does', () => {
  const { shared, given } = openHolds();
  for (const [address, bytes] of [
    [1, 60],
    [2, 15],
  ] as const) {
    const settled = shared.hold(atAddress(1, address), assert.fail);
    assert.ok(settled.grow(bytes));
    settled.settle();
  }
  assert.ok(shared.hold(atAddress(2, 1), () => given.push('own')).grow(8));
  const more = shared.hold(atAddress(2, 2), assert.fail);
  assert.ok(more.grow(6));
  assert.deepEqual(given, ['own']);
  assert.ok(shared.hold(atAddress(2, 3), assert.fail).grow(1));
  assert.equal(more.grow(5), false, 'not for who has more');
});
