import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { TrustedProxies } from './forwarded.ts';

const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8:f::/48']);
const NONE = 'what is no IP address';

const ROWS: [peer: string, header: string | undefined, found: string, why: string][] = [
  ['10.0.0.1', '198.51.100.7', '198.51.100.7', 'a proxy names somebody'],
  ['::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7', 'as a dual-stack socket shows it'],
  ['192.0.2.1', '198.51.100.7', '198.51.100.7', 'one address'],
  ['192.0.2.2', '198.51.100.7', '192.0.2.2', 'the address beside it'],
  ['11.0.0.1', '198.51.100.7', '11.0.0.1', 'a client names somebody else'],
  ['10.0.0.1', undefined, '10.0.0.1', 'the proxy itself asks'],
  [
    '10.0.0.1',
    '203.0.113.9, 198.51.100.7',
    '198.51.100.7',
    'what the client wrote is not believed',
  ],
  ['10.0.0.1', 'x,, ,198.51.100.7', '198.51.100.7', 'nor looked at'],
  ['10.0.0.1', '198.51.100.7, 10.9.9.9', '198.51.100.7', 'through two proxies'],
  ['10.0.0.1', '198.51.100.7,10.9.9.9,192.0.2.1', '198.51.100.7', 'through three'],
  [
    '10.0.0.1',
    '203.0.113.9, 198.51.100.7, 10.9.9.9',
    '198.51.100.7',
    'before the last untrusted address',
  ],
  ['10.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1', 'from behind the proxies'],
  ['10.0.0.1', '2001:db8::7', '2001:db8::7', 'IPv6'],
  ['2001:db8:f::1', '2001:db8:f:1::2, 2001:db8:f:2::3', '2001:db8:f:1::2', 'IPv6 proxies'],
  ['2001:db8:e::1', '198.51.100.7', '2001:db8:e::1', 'another IPv6 network'],
  ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7', 'with a port'],
  ['10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7', 'IPv6 with a port'],
  ['10.0.0.1', '[2001:db8::7]', '2001:db8::7', 'IPv6 in brackets'],
  ['10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7', 'IPv4 in IPv6: one address, one name'],
  ['10.0.0.1', '', NONE, 'an empty header'],
  ['10.0.0.1', 'unknown', NONE, 'a word'],
  ['10.0.0.1', '198.51.100.7,', NONE, 'an empty end'],
  ['10.0.0.1', 'unknown, 10.9.9.9', NONE, 'a word before a proxy'],
  ['10.0.0.1', ', 10.9.9.9', NONE, 'nothing before a proxy'],
  ['10.0.0.1', '198.51.100.256', NONE, 'a number too large'],
  ['10.0.0.1', '198.51.100.7:123456', NONE, 'a port too long'],
  ['10.0.0.1', 'a.example', NONE, 'a name'],
  ['10.0.0.1', `${'10.1.1.1,'.repeat(31)}10.1.1.1`, '10.1.1.1', '32 proxies'],
  ['10.0.0.1', `${'10.1.1.1,'.repeat(32)}10.1.1.1`, 'more than 32 proxies', '33 proxies'],
];
for (const [peer, header, found, why] of ROWS) {
  test(`from ${peer}, X-Forwarded-For ${JSON.stringify(header?.slice(0, 50))}: ${why}`, () => {
    const verdict = proxies.clientOf(peer, header);
    assert.equal('address' in verdict ? verdict.address : verdict.because, found);
  });
}

test('without trusted proxies nobody is believed', () => {
  const none = new TrustedProxies([]);
  assert.deepEqual(none.clientOf('10.0.0.1', '198.51.100.7'), { address: '10.0.0.1' });
  assert.equal(none.has('10.0.0.1'), false);
});

test('a header of any length is read in no time', async () => {
  await spendsAtMost(50, () => {
    for (const header of ['10.1.1.1,'.repeat(20_000), ','.repeat(200_000), '1'.repeat(200_000)]) {
      proxies.clientOf('10.0.0.1', header);
    }
  });
});
