import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf, siteOf } from '../core/fairness/party.ts';
import type { Handshake } from './handshake-places.ts';
import { SteppedAside } from './stepped-aside.ts';

interface Named extends Handshake {
  address: string;
  nth: number;
}

/** Handshakes of so many from an address; of those whose client has spoken since: `spoke`. */
type Crowd = [address: string, count: number, spoke?: 'spoke'];

function add(crowds: readonly Crowd[]): { aside: SteppedAside<Named>; closed: string[] } {
  const aside = new SteppedAside<Named>();
  const closed: string[] = [];
  for (const [address, count, spoke] of crowds) {
    for (let nth = 0; nth < count; nth++) {
      const late = aside.add({
        ...{ address, nth, site: siteOf(address), network: networkOf(address), since: 0 },
        ...{ heard: 517, socket: { bytesRead: spoke ? 600 : 517 } },
      });
      if (late)
        closed.push(`${late.address} ${late.nth}${late.socket.bytesRead > 517 ? ' spoke' : ''}`);
    }
  }
  return { aside, closed };
}

/** Two networks of which each has half of all, one of them from two addresses. */
const FULL: Crowd[] = [
  ['192.0.2.1', 512],
  ['198.51.100.1', 312],
  ['198.51.100.2', 200],
];

const cases: [what: string, crowds: Crowd[], closed: string[]][] = [
  ['a site has 512', [['192.0.2.1', 512]], []],
  ['one more is the end of its oldest', [['192.0.2.1', 513]], ['192.0.2.1 0']],
  ['all have 1024', FULL, []],
  [
    'one more of a third network is the end of one of the site that has most',
    [...FULL, ['198.51.100.2', 1], ['203.0.113.1', 1]],
    ['198.51.100.1 0', '192.0.2.1 0'],
  ],
  [
    'who has said something goes on before who has not',
    [
      ['192.0.2.1', 500, 'spoke'],
      ['192.0.2.1', 13],
    ],
    ['192.0.2.1 0'],
  ],
  [
    'where all have said something the oldest ends',
    [
      ['192.0.2.1', 512, 'spoke'],
      ['192.0.2.1', 1, 'spoke'],
    ],
    ['192.0.2.1 0 spoke'],
  ],
];
for (const [what, crowds, closed] of cases) {
  test(`handshakes that have stepped aside: ${what}`, () => {
    assert.deepEqual(add(crowds).closed, closed);
  });
}

test('who is done is not counted any more', () => {
  const { aside } = add([['192.0.2.1', 511]]);
  const make = (): Named => ({
    ...{ address: '192.0.2.1', nth: 0, since: 0, heard: 0, socket: { bytesRead: 0 } },
    ...{ site: siteOf('192.0.2.1'), network: networkOf('192.0.2.1') },
  });
  const [one, other] = [make(), make()];
  assert.equal(aside.add(one), undefined);
  assert.equal(aside.end(one), true);
  assert.equal(aside.end(one), false);
  assert.equal(aside.add(other), undefined);
});
