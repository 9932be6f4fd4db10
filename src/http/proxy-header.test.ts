import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProxyHeader } from './proxy-header.ts';

const text = (header: string): Buffer => Buffer.from(header, 'latin1');
const SIGNATURE = '0d0a0d0a000d0a515549540a';
const binary = (hex: string): Buffer => Buffer.from(SIGNATURE + hex.replaceAll(' ', ''), 'hex');
const PORTS = '1f90 01bb';

const ROWS: [why: string, header: Buffer, expected: ReturnType<typeof parseProxyHeader>][] = [
  [
    'version 1, IPv4',
    text('PROXY TCP4 198.51.100.7 192.0.2.1 4711 443\r\nGET'),
    { length: 44, address: '198.51.100.7' },
  ],
  [
    'version 1, IPv6',
    text('PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n'),
    { length: 45, address: '2001:db8::7' },
  ],
  ['version 1, unknown', text('PROXY UNKNOWN\r\n'), { length: 15 }],
  [
    'version 1, unknown with whatever',
    text('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\nGET'),
    { length: 35 },
  ],
  ['nothing yet', text(''), 'incomplete'],
  ['the first letters', text('PRO'), 'incomplete'],
  ['version 1 without its end', text('PROXY TCP4 198.51.100.7 192.0.2.1 4711 443\r'), 'incomplete'],
  ['a longer version 1', text(`PROXY UNKNOWN ${'x'.repeat(100)}\r\n`), 'malformed'],
  ['a longer version 1 without an end', text(`PROXY UNKNOWN ${'x'.repeat(100)}`), 'malformed'],
  ['version 1 of one family with the other', text('PROXY TCP4 ::1 ::2 1 2\r\n'), 'malformed'],
  ['version 1 with a zone', text('PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n'), 'malformed'],
  ['version 1 with a port too high', text('PROXY TCP4 1.2.3.4 1.2.3.5 65536 1\r\n'), 'malformed'],
  ['version 1 with a port of zeros', text('PROXY TCP4 1.2.3.4 1.2.3.5 01 1\r\n'), 'malformed'],
  ['version 1 with a word more', text('PROXY TCP4 1.2.3.4 1.2.3.5 1 1 1\r\n'), 'malformed'],
  ['version 1 with two blanks', text('PROXY TCP4  1.2.3.4 1.2.3.5 1 1\r\n'), 'malformed'],
  ['version 1 with a word too few', text('PROXY TCP4 1.2.3.4 1.2.3.5 1\r\n'), 'malformed'],
  ['a request', text('GET / HTTP/1.1\r\n\r\n'), 'malformed'],
  ['a TLS hello', Buffer.from([0x16, 3, 1, 0, 100]), 'malformed'],
  [
    'version 2, IPv4',
    binary(`21 11 000c c6336407 c0000201 ${PORTS}`),
    { length: 28, address: '198.51.100.7' },
  ],
  [
    'version 2, IPv4, with a part more',
    binary(`21 11 0010 c6336407 c0000201 ${PORTS} 04000101`),
    { length: 32, address: '198.51.100.7' },
  ],
  [
    'version 2, IPv6',
    binary(`21 21 0024 20010db8000000000000000000000007 20010db8000000000000000000000001 ${PORTS}`),
    { length: 52, address: '2001:db8:0:0:0:0:0:7' },
  ],
  ['version 2, of the proxy itself', binary('20 00 0000'), { length: 16 }],
  ['version 2, of a unix socket', binary(`21 31 00d8 ${'00'.repeat(216)}`), { length: 232 }],
  ['version 2 that is cut', binary('21 11 000c c6336407'), 'incomplete'],
  ['the signature alone', binary(''), 'incomplete'],
  ['version 2 of another version', binary(`11 11 000c c6336407 c0000201 ${PORTS}`), 'malformed'],
  ['version 2 of another command', binary(`22 11 000c c6336407 c0000201 ${PORTS}`), 'malformed'],
  ['version 2 too short for its family', binary('21 11 0008 c6336407 c0000201'), 'malformed'],
  ['version 2 of sixty thousand bytes', binary('21 11 ffff'), 'malformed'],
];
for (const [why, header, expected] of ROWS) {
  test(`a PROXY header: ${why}`, () => assert.deepEqual(parseProxyHeader(header), expected));
}

test('a header is incomplete wherever it is cut, and never malformed by that', () => {
  for (const [, header, expected] of ROWS) {
    if (typeof expected === 'string') continue;
    for (let length = 0; length < expected.length; length++) {
      assert.equal(parseProxyHeader(header.subarray(0, length)), 'incomplete');
    }
  }
});
