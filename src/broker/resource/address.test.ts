import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAddress } from './address.ts';

const PORT = 'no port';
const LENGTH = 'Address length must be between 3 and 255 characters.';
const PARSE = /^Error parsing address: .+\.$/;

const taken: [text: string, address: string, why: string][] = [
  ['127.0.0.1', '127.0.0.1', 'IPv4'],
  [' 127.0.0.1 ', '127.0.0.1', 'trimmed'],
  ['db.example.com', 'db.example.com', 'a name'],
  ['DB.example.com', 'DB.example.com', 'in its case'],
  ['abc', 'abc', 'three characters'],
  ['a'.repeat(255), 'a'.repeat(255), '255 characters'],
  ['2001:BEEF:0:0:0:1:0:0001', '2001:beef::1:0:1', 'canonical'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1', 'the first of two equal runs'],
  ['::1', '::1', 'short'],
  ['::FFFF:10.0.0.1', '::ffff:a00:1', 'IPv4 in IPv6'],
  ['1:2:3:4:5:6:7:0', '1:2:3:4:5:6:7:0', 'a single zero is not shortened'],
];

for (const [text, address, why] of taken) {
  test(`address ${JSON.stringify(text.slice(0, 40))} is taken: ${why}`, () => {
    assert.deepEqual(judgeAddress(text, PORT), { valid: true, address });
  });
}

const refused: [text: string, because: string | RegExp, why: string][] = [
  ['ab', LENGTH, 'two characters'],
  ['  ab  ', LENGTH, 'once trimmed'],
  ['', LENGTH, 'nothing'],
  ['a'.repeat(256), LENGTH, '256 characters'],
  ['8.8.8.8:80', PORT, 'a port'],
  ['example.com:', PORT, 'an empty port'],
  ['example.com:http', PORT, 'a port by its name'],
  ['[::1]:80', PORT, 'a port behind brackets'],
  ['aaa.8bc.8.8:80:abc', PARSE, 'neither'],
  ['[2001:beef::1]', /encapsulated by brackets/, 'brackets'],
  ['[127.0.0.1]', /encapsulated by brackets/, 'brackets around IPv4'],
  ['2001:BEEF:0:0:0:1:0', /invalid IPv6 literal/, 'seven groups'],
  ['1:2:3:4:5:6:7:8:9', /invalid IPv6 literal/, 'nine groups'],
  ['2001:db8::1::2', /invalid IPv6 literal/, 'two runs'],
  ['a b.example', PARSE, 'a blank'],
  ['a/b', PARSE, 'a slash'],
  ['user@host', PARSE, 'a user'],
  ['a\u0000b', PARSE, 'a control character'],
  ['tcp://host', PORT, 'a URL, which has a colon'],
  ['tcp://host:80', PARSE, 'or two'],
  ['a"b<c>', PARSE, 'what would end a quotation'],
];

for (const [text, because, why] of refused) {
  test(`address ${JSON.stringify(text.slice(0, 40))} is refused: ${why}`, () => {
    const verdict = judgeAddress(text, PORT);
    assert.equal(verdict.valid, false);
    if (typeof because === 'string') assert.equal(verdict.because, because);
    else assert.match(verdict.because, because);
  });
}

test('an IPv6 address with a zone keeps it', () => {
  assert.deepEqual(judgeAddress('FE80::0001%eth0', PORT), { valid: true, address: 'fe80::1%eth0' });
});
