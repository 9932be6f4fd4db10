import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeReach, type ReachRules } from './reach-rules.ts';

const PLAIN: ReachRules = { allow_loopback: false, allowed_networks: [], denied_networks: [] };
const DEVELOPMENT: ReachRules = { ...PLAIN, allow_loopback: true };
const OWN = ['10.0.0.5', '2001:db8::5', 'fe80::5', 'localhost'];

const cases: [address: string, production: boolean, development: boolean, why: string][] = [
  ['10.1.2.3', true, true, 'a private network is where Vaults are'],
  ['192.168.1.1', true, true, 'another one'],
  ['172.16.0.1', true, true, 'another one'],
  ['fd12:3456::1', true, true, 'a private network of IPv6'],
  ['203.0.113.7', true, true, 'a public address'],
  ['2001:db8::7', true, true, 'a public address of IPv6'],
  ['127.0.0.1', false, true, 'loopback'],
  ['127.255.255.254', false, true, 'all of it'],
  ['::1', false, true, 'loopback of IPv6'],
  ['::ffff:127.0.0.1', false, true, 'loopback, mapped'],
  ['::ffff:7f00:1', false, true, 'the same in hexadecimal'],
  ['::127.0.0.1', false, true, 'loopback in the old form'],
  ['64:ff9b::127.0.0.1', false, true, 'loopback behind a translator'],
  ['2002:7f00:1::', false, true, 'loopback in a tunnel'],
  ['169.254.169.254', false, false, 'the metadata service of most clouds'],
  ['169.254.170.2', false, false, 'that of containers'],
  ['::ffff:169.254.169.254', false, false, 'the same, mapped'],
  ['::ffff:0:169.254.169.254', false, false, 'the same, translated'],
  ['64:ff9b::a9fe:a9fe', false, false, 'the same behind a translator'],
  ['2002:a9fe:a9fe::1', false, false, 'the same in a tunnel'],
  ['fd00:ec2::254', false, false, 'a metadata service of IPv6'],
  ['fd00:ec2::23', false, false, 'one that hands out credentials beside it'],
  ['fd00:ec3::254', true, true, 'their neighbour'],
  ['fd20:ce::254', false, false, 'another one'],
  ['fd00:c1::a9fe:a9fe', false, false, 'a third'],
  ['fd00:42::42', false, false, 'a fourth'],
  ['fd00:42::43', true, true, 'its neighbour'],
  ['fd00:a9fe:a9fe::1', false, false, 'a fifth'],
  ['fd00:100::100:200', false, false, 'a sixth'],
  ['100.100.100.200', false, false, 'another one'],
  ['100.100.100.201', true, true, 'its neighbour'],
  ['168.63.129.16', false, false, 'another one'],
  ['192.0.0.192', false, false, 'another one'],
  ['0.0.0.0', false, false, 'unspecified, which is this machine'],
  ['0.1.2.3', false, false, 'its network'],
  ['::', false, false, 'unspecified of IPv6'],
  ['::ffff:0.0.0.0', false, false, 'unspecified, mapped'],
  ['fe80::1', false, false, 'link-local'],
  ['fe80::1%eth0', false, false, 'the same with a zone'],
  ['224.0.0.1', false, false, 'multicast'],
  ['ff02::1', false, false, 'multicast of IPv6'],
  ['255.255.255.255', false, false, 'broadcast'],
  ['240.0.0.1', false, false, 'reserved'],
  ['64:ff9b:1::a9fe:a9fe', false, false, 'metadata behind a translator of local use'],
  ['64:ff9b:1:7f00:0:100::', false, false, 'loopback there, in another place'],
  ['64:ff9b:2::a9fe:a9fe', true, true, 'the network after that'],
  ['2001:db8::5efe:7f00:1', false, true, 'loopback in a tunnel within a site'],
  ['2001:db8::200:5efe:a9fe:a9fe', false, false, 'metadata in one, of a global address'],
  ['2001:db8::5efe:808:808', true, true, 'a public address in one'],
  ['2001:db8::5eff:7f00:1', true, true, 'no such tunnel'],
  ['2001:db8::100:5efe:7f00:1', true, true, 'nor this'],
  ['2001:0:1::1', false, false, 'an address of a tunnel that hides another'],
  ['localhost', false, false, 'a name that nobody has resolved'],
  ['', false, false, 'nothing'],
];

for (const [address, production, development, why] of cases) {
  test(`a Vault server at ${address || '""'}: ${why}`, () => {
    assert.equal(judgeReach(address, PLAIN, OWN).allowed, production, 'production');
    assert.equal(judgeReach(address, DEVELOPMENT, OWN).allowed, development, 'development');
  });
}

const own: [address: string, isOwn: boolean][] = [
  ['10.0.0.5', true],
  ['::ffff:10.0.0.5', true],
  ['::ffff:a00:5', true],
  ['64:ff9b::10.0.0.5', true],
  ['2002:a00:5::', true],
  ['::10.0.0.5', true],
  ['2001:db8::5', true],
  ['2001:DB8:0::0:5', true],
  ['2001:db8::5%eth0', true],
  ['10.0.0.6', false],
  ['::ffff:10.0.0.6', false],
  ['2001:db8::6', false],
];
for (const [address, isOwn] of own) {
  test(`${address} is ${isOwn ? 'this machine, by an address of its own: reached only where loopback is' : 'a neighbour, and reached'}`, () => {
    assert.equal(judgeReach(address, PLAIN, OWN).allowed, !isOwn);
    assert.equal(judgeReach(address, DEVELOPMENT, OWN).allowed, true);
  });
}

test('networks can be denied, or be all that is allowed, and neither opens what is never reached', () => {
  const at = (address: string, change: Partial<ReachRules>) =>
    judgeReach(address, { ...PLAIN, ...change }).allowed;
  assert.equal(at('10.0.0.1', { denied_networks: ['10.0.0.0/8'] }), false);
  assert.equal(at('::ffff:10.0.0.1', { denied_networks: ['10.0.0.0/8'] }), false);
  assert.equal(at('11.0.0.1', { denied_networks: ['10.0.0.0/8'] }), true);
  assert.equal(at('10.0.0.1', { allowed_networks: ['10.0.0.1'] }), true);
  assert.equal(at('10.0.0.2', { allowed_networks: ['10.0.0.1', '2001:db8::/32'] }), false);
  assert.equal(at('2001:db8::2', { allowed_networks: ['10.0.0.1', '2001:db8::/32'] }), true);
  assert.equal(at('169.254.169.254', { allowed_networks: ['0.0.0.0/0'] }), false);
  assert.equal(at('127.0.0.1', { allowed_networks: ['127.0.0.0/8'] }), false);
});
