import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { areWithin, judgeAddress, plainAddress, requireCidrs } from './cidrs.ts';

const admissions: [cidrs: string[], address: string | undefined, admitted: boolean][] = [
  [[], undefined, true],
  [['10.0.0.0/8'], undefined, false],
  [['10.0.0.0/8'], '10.255.0.1', true],
  [['10.0.0.0/8'], '11.0.0.1', false],
  [['10.0.0.1'], '10.0.0.1', true],
  [['10.0.0.1'], '10.0.0.2', false],
  [['10.0.0.0/8'], '::ffff:10.0.0.1', true],
  [['2001:db8::/32'], '2001:db8::1', true],
  [['2001:db8::/32'], '2001:db9::1', false],
  [['0.0.0.0/0'], '2001:db8::1', false],
  [['fe80::1'], 'fe80::1%eth0', true],
  [['fe80::1'], 'fe80::2%eth0', false],
  [['10.0.0.0/9', '10.128.0.0/10'], '10.191.255.255', true],
  [['10.0.0.0/9', '10.128.0.0/10'], '10.192.0.0', false],
  [['192.0.2.77/25'], '192.0.2.0', true],
  [['192.0.2.77/25'], '192.0.2.128', false],
  [['0.0.0.0/0'], '198.51.100.7', true],
  [['::/0'], '2001:db8::1', true],
  [['::/0'], '198.51.100.7', false],
  [['2001:db8:8000::/33'], '2001:db8:ffff::1', true],
  [['2001:db8:8000::/33'], '2001:db8:7fff::1', false],
  [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
  [['::ffff:10.0.0.0/104'], '11.1.2.3', false],
  [['10.0.0.0/8'], '::ffff:a00:1', true],
  [['10.0.0.0/8'], '10.0.0.1.', false],
];

for (const [cidrs, address, admitted] of admissions) {
  test(`${address} is ${admitted ? '' : 'not '}within [${cidrs}]`, () => {
    assert.equal(judgeAddress(cidrs, address), admitted);
  });
}

test("an address is kept without what is the socket's own", () => {
  assert.equal(plainAddress('::ffff:192.0.2.7'), '192.0.2.7');
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1');
  assert.equal(plainAddress('2001:db8::1'), '2001:db8::1');
  for (const none of [undefined, '', '/run/socket', '192.0.2']) {
    assert.equal(plainAddress(none), undefined);
  }
});

const nestings: [cidrs: string[], outer: string[], within: boolean][] = [
  [['10.1.0.0/16'], ['10.0.0.0/8'], true],
  [['10.0.0.0/7'], ['10.0.0.0/8'], false],
  [['10.0.0.1/0'], ['10.0.0.0/8'], false],
  [['10.0.0.1', '11.0.0.1'], ['10.0.0.0/8'], false],
  [['::a00:1'], ['10.0.0.0/8'], false],
  [['10.0.0.0/8'], ['10.0.0.0/8'], true],
  [['10.0.0.0/8'], ['11.0.0.0/8', '10.0.0.0/9'], false],
  [['2001:db8::/48'], ['2001:db8::/32'], true],
  [['2001:db8::/31'], ['2001:db8::/32'], false],
  [['10.0.0.0/8'], ['::/0'], false],
  [['11.0.0.0/8'], [], true],
];

for (const [cidrs, outer, within] of nestings) {
  test(`blocks [${cidrs}] are ${within ? '' : 'not '}within [${outer}]`, () => {
    assert.equal(areWithin(cidrs, outer), within);
  });
}

test('what is no address block is refused by name', () => {
  for (const wrong of [
    '10.0.0.0/33',
    '10.0.0',
    'home',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'fe80::1%x',
    '::/129',
    '::ffff:1.2.3.4/95',
  ]) {
    assert.throws(
      () => requireCidrs('token_bound_cidrs', ['10.0.0.0/8', wrong]),
      /token_bound_cidrs/,
    );
  }
});

test('a thousand blocks are held against a thousand in a short time', async () => {
  const bits = (at: number): number => 20 + (at % 100);
  const inner = Array.from({ length: 1000 }, (_, at) => `2001:db8:${at.toString(16)}::/128`);
  const outer = Array.from(
    { length: 1000 },
    (_, at) => `2001:dc8:${at.toString(16)}::/${bits(at)}`,
  );
  await spendsAtMost(300, () => {
    requireCidrs('token_bound_cidrs', [...inner, ...outer]);
    assert.equal(areWithin(inner, [...outer, '2001:db8::/32']), true);
    assert.equal(areWithin([...inner, '10.0.0.1'], [...outer, '2001:db8::/32']), false);
    for (let n = 0; n < 1000; n += 1) judgeAddress(outer, '198.51.100.7');
  });
});
