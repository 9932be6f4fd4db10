import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Refusal, type RefusalKind, RefusalTally } from './refusal-tally.ts';

const refusal = (remote_address: string, kind: RefusalKind, route = 'any'): Refusal => ({
  remote_address,
  kind,
  route,
});

test('the first three refusals of an address in a second are recorded, the fourth is counted', () => {
  const tally = new RefusalTally();
  assert.deepEqual(
    [0, 1, 2, 999].map((ms) => tally.take(ms, refusal('a', 'other'))),
    [true, true, true, false],
  );
  assert.equal(tally.take(1000, refusal('a', 'other')), true, 'a new second');
  assert.deepEqual(tally.drain(), [{ remote_address: 'a', requests: 1 }]);
  assert.deepEqual(tally.drain(), []);
});

test('a flood from everywhere makes ten records a second and 21 counts', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let n = 0; n < 100_000; n++)
    if (tally.take(n / 1000, refusal(`address ${n}`, 'other'))) whole++;
  assert.equal(whole, 10);
  const counts = tally.drain();
  assert.equal(counts.length, 21);
  assert.equal(
    counts.reduce((sum, one) => sum + one.requests, 0),
    100_000 - 10,
  );
  assert.equal(counts.at(-1)?.remote_address, undefined);
});

test('an unknown token is recorded however many log-ins failed before it, and the other way round', () => {
  for (const [noise, quiet] of [
    ['other', 'unknown_token'],
    ['unknown_token', 'other'],
  ] as const) {
    const tally = new RefusalTally();
    for (let n = 0; n < 1000; n++) tally.take(0, refusal(`address ${n % 20}`, noise));
    assert.deepEqual(
      [1, 2, 3, 4].map((ms) => tally.take(ms, refusal('address 0', quiet))),
      [true, true, true, false],
    );
  }
});

test('of an address twenty are recorded in a minute, and the next minute twenty more', () => {
  const tally = new RefusalTally();
  const recorded = (from: number): number => {
    let whole = 0;
    for (let second = 0; second < 60; second++) {
      if (tally.take(from + second * 1000, refusal('192.0.2.1', 'other'))) whole++;
    }
    return whole;
  };
  assert.equal(recorded(0), 20);
  assert.equal(recorded(60_000), 20);
  assert.deepEqual(tally.drain(), [{ remote_address: '192.0.2.1', requests: 80 }]);
});

test('six addresses that are refused all day leave the records of others room, and fill no disk', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let ms = 0; ms < 60_000; ms += 10) {
    if (tally.take(ms, refusal(`192.0.2.${(ms / 10) % 6}`, 'other'))) whole++;
  }
  assert.equal(whole, 30);
  assert.deepEqual(
    [0, 1, 2, 3].map((ms) => tally.take(59_990 + ms, refusal('198.51.100.1', 'other'))),
    [true, true, true, false],
  );
});

test('a day of refusals from everywhere is sixty records a minute', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let ms = 0; ms < 600_000; ms += 5)
    if (tally.take(ms, refusal(`address ${ms}`, 'other'))) whole++;
  assert.equal(whole, 600);
});

test('the addresses of one IPv6 site are one, those of two are not', () => {
  const tally = new RefusalTally();
  const take = (address: string): boolean => tally.take(0, refusal(address, 'other'));
  assert.deepEqual(
    ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:1:4::1'].map(take),
    [true, true, true, false],
  );
  assert.equal(take('2001:db8:2::1'), true);
  assert.deepEqual(tally.drain(), [{ remote_address: '2001:db8:1::/48', requests: 1 }]);
});

test('what there is no room for is counted', () => {
  const tally = new RefusalTally();
  assert.equal(tally.take(0, refusal('a', 'other'), false), false);
  assert.deepEqual(tally.drain(), [{ remote_address: 'a', requests: 1 }]);
});

test('attempts on the seal are recorded however much else was refused before, and the other way round', () => {
  for (const noise of ['other', 'unknown_token'] as const) {
    const tally = new RefusalTally();
    for (let n = 0; n < 1000; n++) tally.take(0, refusal(`address ${n % 20}`, noise));
    for (let n = 0; n < 20; n++) {
      assert.equal(tally.take(0, refusal('address 0', 'seal', 'unseal')), true);
    }
    assert.equal(tally.take(0, refusal('address 0', 'seal', 'unseal')), false);
    const quiet = new RefusalTally();
    for (let n = 0; n < 1000; n++) quiet.take(0, refusal('address 0', 'seal'));
    assert.deepEqual(
      [1, 2, 3, 4].map((ms) => quiet.take(ms, refusal('address 0', noise))),
      [true, true, true, false],
    );
  }
});

test('of attempts on the seal a site has sixty records a minute, and all have 120', () => {
  const tally = new RefusalTally();
  const recorded = (from: number, site: string): number => {
    let whole = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      if (tally.take(from + ms, refusal(site, 'seal', 'unseal'))) whole++;
    }
    return whole;
  };
  assert.equal(recorded(0, '192.0.2.1'), 60);
  assert.equal(recorded(60_000, '192.0.2.1'), 60);
  let all = 0;
  for (let ms = 120_000; ms < 180_000; ms += 10) {
    if (tally.take(ms, refusal(`address ${ms}`, 'seal', 'unseal'))) all++;
  }
  assert.equal(all, 120);
});

test('what is tried at the seal beyond that is counted by what it is', () => {
  const tally = new RefusalTally();
  for (let n = 0; n < 23; n++) tally.take(0, refusal('a', 'seal', 'unseal'));
  for (let n = 0; n < 2; n++) tally.take(0, refusal('a', 'seal', 'cancel'));
  for (let n = 0; n < 4; n++) tally.take(0, refusal('a', 'other', 'log-in'));
  assert.deepEqual(tally.drain(), [
    { remote_address: 'a', requests: 1 },
    { remote_address: 'a', requests: 3, route: 'unseal' },
    { remote_address: 'a', requests: 2, route: 'cancel' },
  ]);
  assert.deepEqual(tally.drain(), []);
});

const neighbours: [what: string, kind: RefusalKind, ms: number, recorded: number, left: number][] =
  [
    ['in a second', 'other', 0, 8, 2],
    ['in a minute', 'other', 1_000, 45, 15],
    ['at the seal in a second', 'seal', 0, 30, 10],
  ];
for (const [what, kind, ms, recorded, left] of neighbours) {
  test(`hundreds of neighbours leave a part of the records to other networks: ${what}`, () => {
    const tally = new RefusalTally();
    const count = (make: (n: number) => string): number => {
      let whole = 0;
      for (let n = 0; n < 250; n++) {
        // Five in each second, where it is about minutes.
        if (tally.take(Math.floor(n / 5) * ms, refusal(make(n), kind))) whole += 1;
      }
      return whole;
    };
    assert.equal(
      count((n) => `192.0.2.${n}`),
      recorded,
    );
    assert.equal(
      count((n) => `198.51.${n}.1`),
      left,
    );
  });
}
