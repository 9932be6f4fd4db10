import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf, networkOf, partyOf, siteOf } from './party.ts';

const together: [address: string, other: string, same: boolean, why: string][] = [
  ['192.0.2.7', '192.0.2.7', true, 'an address with itself'],
  ['192.0.2.7', '192.0.2.8', false, 'IPv4 addresses are counted one by one'],
  ['192.0.2.7', '::ffff:192.0.2.7', true, 'as a dual-stack socket shows it'],
  ['::ffff:c000:207', '192.0.2.7', true, 'the same in hexadecimal'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.8', false, 'IPv4 beneath IPv6 is no common network'],
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true, 'one network of 64 bits'],
  ['2001:db8:1:2::1', '2001:DB8:0001:0002::2', true, 'whatever way it is written'],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false, 'the next network'],
  ['fe80::1%eth0', 'fe80::2%eth1', true, 'a zone is none of the address'],
  ['::1', '::2', true, 'zeros in front'],
  ['::1', '127.0.0.1', false, 'loopback of the other kind'],
];

for (const [address, other, same, why] of together) {
  test(`${address} and ${other}: ${why}`, () => {
    assert.equal(partyOf(address) === partyOf(other), same);
  });
}

test('a site is an address of IPv4, and a network of 48 bits of IPv6', () => {
  const cases: [string, string, boolean][] = [
    ['192.0.2.7', '::ffff:192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['2001:db8:1:2::1', '2001:db8:1:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:2:2::1', false],
    ['::1', '::2', true],
    ['::1', '0:0:1::1', false],
  ];
  for (const [address, other, same] of cases) {
    assert.equal(siteOf(address) === siteOf(other), same, `${address} ${other}`);
  }
});

test('a network is 24 bits of IPv4, and 48 of IPv6', () => {
  const cases: [string, string, boolean][] = [
    ['192.0.2.7', '::ffff:192.0.2.254', true],
    ['192.0.2.7', '192.0.3.7', false],
    ['2001:db8:1:2::1', '2001:db8:1:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:2:2::1', false],
    ['', '192.0.2.7', false],
  ];
  for (const [address, other, same] of cases) {
    assert.equal(networkOf(address) === networkOf(other), same, `${address} ${other}`);
  }
});

test('the groups of an address, however it is shortened', () => {
  const cases: [string, number[]][] = [
    ['::', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['1::', [1, 0, 0, 0, 0, 0, 0, 0]],
    ['::1', [0, 0, 0, 0, 0, 0, 0, 1]],
    ['1:2:3:4:5:6:7:8', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['::ffff:127.0.0.1', [0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]],
    ['64:ff9b::169.254.169.254', [0x64, 0xff9b, 0, 0, 0, 0, 0xa9fe, 0xa9fe]],
  ];
  for (const [address, groups] of cases) assert.deepEqual(groupsOf(address), groups, address);
});
