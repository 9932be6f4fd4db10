import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf, siteOf } from '../core/fairness/party.ts';
import { type Handshake, HandshakePlaces } from './handshake-places.ts';

interface Named extends Handshake {
  address: string;
  socket: { bytesRead: number };
}

/** Who has begun so many handshakes, in that order, a millisecond apart. */
type Begun = [address: string, count: number][];

function start(quiet_ms?: number) {
  const places = new HandshakePlaces<Named>(quiet_ms);
  const make = (address: string): Named => ({
    address,
    site: siteOf(address),
    network: networkOf(address),
    socket: { bytesRead: 517 },
    since: 0,
    heard: 0,
  });
  return {
    places,
    /** @returns those that found a place */
    begin(begun: Begun): Named[] {
      const found: Named[] = [];
      for (const [address, count] of begun) {
        for (let n = 0; n < count; n++) {
          const one = make(address);
          if (places.isFull || !places.mayBegin(one.site)) continue;
          places.begin(one, found.length);
          found.push(one);
        }
      }
      return found;
    },
    /** @returns whose handshake has to end after so long while these wait */
    end(after_ms: number, waiting: readonly string[]): string | undefined {
      for (const address of waiting) places.wait(make(address));
      const sites = new Set(waiting.map(siteOf));
      return places.chooseToStepAside(after_ms, (site) => sites.has(site))?.address;
    },
  };
}

/** One of each of so many addresses of a network. */
const crowd = (network: number, count: number): Begun =>
  Array.from({ length: count }, (_, n) => [`198.51.${network}.${n + 1}`, 1]);

const begins: [what: string, begun: Begun, more: string, may: boolean][] = [
  ['an address has sixteen', [['192.0.2.1', 15]], '192.0.2.1', true],
  ['and no more', [['192.0.2.1', 16]], '192.0.2.1', false],
  ['its neighbour has others', [['192.0.2.1', 16]], '192.0.2.2', true],
  ['a network has half of all', crowd(1, 31), '198.51.1.250', true],
  ['and no more, however many addresses it has', crowd(1, 250), '198.51.1.251', false],
  ['another network has the other half', crowd(1, 250), '198.51.2.1', true],
  ['a site of IPv6 is a network', [['2001:db8:7:1::1', 16]], '2001:db8:7:2::1', false],
  ['and another one of the same provider is not', [['2001:db8:7:1::1', 16]], '2001:db8:8::1', true],
];
for (const [what, begun, more, may] of begins) {
  test(`handshakes have places by network and by site: ${what}`, () => {
    const { places, begin } = start();
    begin(begun);
    assert.equal(places.isFull, false);
    assert.equal(places.mayBegin(siteOf(more)), may);
  });
}

/** All places are taken: thirty-two, thirty, and two of a network by themselves. */
const FULL: Begun = [...crowd(1, 32), ...crowd(2, 30), ['203.0.113.1', 2]];
/** Sixteen networks with four each: nobody has many. */
const EVEN: Begun = Array.from({ length: 16 }, (_, n) => [`198.51.${n}.1`, 4]);

const endings: [
  what: string,
  begun: Begun,
  after_ms: number,
  waiting: string[],
  ended: string | undefined,
][] = [
  [
    'silent for a quarter of a second, for one that has none',
    FULL,
    251,
    ['192.0.2.1'],
    '198.51.1.1',
  ],
  ['a round trip to another continent is waited for', FULL, 250, ['192.0.2.1'], undefined],
  ['for one that has few', FULL, 251, ['203.0.113.1'], '198.51.1.1'],
  ['not for one that has many itself', FULL, 999, ['198.51.2.77'], undefined],
  ['which waits until one is overdue', FULL, 1_001, ['198.51.2.77'], '198.51.1.1'],
  ['not where nobody has many', EVEN, 999, ['192.0.2.1'], undefined],
  ['there too one that is overdue', EVEN, 1_001, ['192.0.2.1'], '198.51.0.1'],
  ['not while there are places', crowd(1, 32), 2_000, ['192.0.2.1'], undefined],
  [
    'but for its own, which have no other place',
    crowd(1, 32),
    1_001,
    ['198.51.1.77'],
    '198.51.1.1',
  ],
  ['and not sooner for those', crowd(1, 32), 999, ['198.51.1.77'], undefined],
  ['of a site for its own', [['192.0.2.1', 16]], 1_001, ['192.0.2.1'], '192.0.2.1'],
  [
    'of a site not for a neighbour, who has a place',
    [['192.0.2.1', 16]],
    1_001,
    ['192.0.2.2'],
    undefined,
  ],
];
for (const [what, begun, after_ms, waiting, ended] of endings) {
  test(`a handshake steps aside for others that wait: ${what}`, () => {
    const { begin, end } = start();
    begin(begun);
    assert.equal(end(after_ms, waiting), ended);
  });
}

const quiet: [what: string, begun: Begun, after_ms: number, ended: string | undefined][] = [
  ['for its own', [['192.0.2.1', 16]], 101, '192.0.2.1'],
  ['not before that', [['192.0.2.1', 16]], 100, undefined],
  ['not while there is a place', [['192.0.2.1', 15]], 101, undefined],
  ['where all places are taken', [...EVEN.slice(1), ['192.0.2.1', 4]], 101, '198.51.1.1'],
];
for (const [what, begun, after_ms, ended] of quiet) {
  test(`where quiet ones step aside after a tenth of a second: ${what}`, () => {
    const { begin, end } = start(100);
    begin(begun);
    assert.equal(end(after_ms, ['192.0.2.1']), ended);
  });
}

test('one whose client has begun to answer is not quiet', () => {
  const { begin, end } = start(100);
  for (const { socket } of begin([['192.0.2.1', 16]])) socket.bytesRead += 1;
  assert.equal(end(1_000, ['192.0.2.1']), undefined);
  assert.equal(end(1_001, ['192.0.2.1']), '192.0.2.1');
});

test('whose client has gone on speaking is waited for longer', () => {
  const { begin, end } = start();
  const [first, second] = begin(FULL);
  for (const one of [first, second]) if (one) one.socket.bytesRead += 1;
  assert.equal(end(500, ['192.0.2.1']), '198.51.1.3');
});

test('who is far away has his handshake while a network holds all that it may', () => {
  const { begin, end } = start();
  begin([['203.0.113.1', 1], ...crowd(1, 250), ...crowd(2, 250)]);
  const ended = Array.from({ length: 3 }, () => end(999, ['192.0.2.1', '192.0.3.1']));
  assert.ok(ended.every((address) => address?.startsWith('198.51.1.')));
});

test('what is done or gone makes place, and is not counted any more', () => {
  const { places, begin, end } = start();
  const found = begin(FULL);
  for (const one of found) assert.equal(places.end(one), true);
  for (const one of found) assert.equal(places.end(one), false);
  assert.equal(places.isFull, false);
  assert.equal(begin(FULL).length, 64);
  assert.equal(end(251, ['192.0.2.1']), '198.51.1.1');
});
