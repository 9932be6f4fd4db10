import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bareHost, isOwnHost } from './host.ts';

const ALLOWED = ['gatehouse.test', '2001:db8::5'];
const LOCAL = '192.0.2.7';

const cases: [host: string | undefined, own: boolean, why: string, local?: string][] = [
  ['127.0.0.1:8200', true, 'loopback'],
  ['127.8.9.10', true, 'all of 127.0.0.0/8'],
  ['[::1]:8200', true, 'loopback of IPv6'],
  ['localhost:8200', true, 'its name'],
  ['LocalHost.', true, 'its name in another case, rooted'],
  ['192.0.2.7:8200', true, 'the address that the connection came to'],
  ['192.0.2.7', true, 'the same over a dual-stack socket', '::ffff:192.0.2.7'],
  ['[2001:db8::7]', true, 'IPv6 that the connection came to', '2001:db8::7'],
  ['gatehouse.test', true, 'a name that was named'],
  ['GATEHOUSE.test:443', true, 'the same in another case'],
  ['[2001:db8::5]:8200', true, 'an address that was named'],
  ['192.0.2.8', false, 'the address of somebody else'],
  ['192.0.2.7', false, 'whose end of the connection is not known', ''],
  ['evil.test:8200', false, 'a name that was made to lead here'],
  ['localhost.evil.test', false, 'a name that begins like one of ours'],
  ['evil-localhost', false, 'a name that ends like one of ours'],
  ['127.0.0.1.evil.test', false, 'a name that begins like an address'],
  ['127.evil.test', false, 'a name with the first number of one'],
  ['2130706433', false, 'an address as one number'],
  ['0x7f000001', false, 'an address in hexadecimal'],
  ['127.1', false, 'a shortened address'],
  ['0177.0.0.1', false, 'an address in octal'],
  ['0.0.0.0:8200', false, 'no address of anybody'],
  ['[::]', false, 'no address of anybody'],
  ['gatehouse.test.evil.test', false, 'a name that begins like a named one'],
  ['a.gatehouse.test', false, 'a name beneath a named one'],
  ['localhost@evil.test', false, 'user information'],
  ['localhost:8200:1', false, 'two ports'],
  ['localhost evil', false, 'two names'],
  ['local\u0000host', false, 'a control character'],
  ['', false, 'nothing'],
  [undefined, false, 'no header'],
];

for (const [host, own, why, local = LOCAL] of cases) {
  test(`a request for ${JSON.stringify(host)}: ${why}`, () => {
    assert.equal(isOwnHost({ host, local_address: local }, ALLOWED), own);
  });
}

test('a host is read without its port and its final dot', () => {
  assert.equal(bareHost('[FE80::1]:80'), 'fe80::1');
  assert.equal(bareHost('Name.test.:80'), 'name.test');
  assert.equal(bareHost('http://name.test'), '');
});
