import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { mayBeSlowToRead } from './slow-certificates.ts';

const pem = (body: string, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');

const CURVE = '301306072a8648ce3d020106082a8648ce3d030107';
const NAMED = `${CURVE}0342000411`;
const EXPLICIT = '3003020101300c06072a8648ce3d0101020100';

const cases: [text: string, may: boolean, rule: string][] = [
  ['', false, 'nothing'],
  [pem(base64(NAMED)), false, 'a named curve'],
  [`# a CA - of ours\n${pem(base64(NAMED))}-- \n`, false, 'words outside'],
  [pem(base64(`${CURVE}038185000411`)), false, 'a point with a length in two bytes'],
  [pem(base64(`${CURVE}0322000211`)), true, 'a point of one coordinate'],
  [pem(base64(`${CURVE}0322000311`)), true, 'the other one with that'],
  [pem(base64(`${CURVE}0342000611`)), true, 'a point in a form of its own'],
  [pem(base64(`${CURVE}2380034200`)), true, 'a point in pieces'],
  [pem(base64(CURVE)), true, 'a curve without a point'],
  [pem(base64(`${NAMED}${CURVE}0322000211`)), true, 'one coordinate in the second'],
  [pem(base64(NAMED)).repeat(256), false, 'as many as may be'],
  [pem(base64(NAMED)).repeat(257), true, 'more than anybody trusts'],
  [pem(base64(EXPLICIT)), true, 'a curve of its own'],
  [pem(base64(EXPLICIT), 'TRUSTED CERTIFICATE'), true, 'under another label'],
  [`${pem(base64(NAMED))}${pem(base64(EXPLICIT))}`, true, 'in the second'],
  [pem(base64(EXPLICIT).replace(/(.{7})/g, '$1\r\n  ')), true, 'in short lines'],
  [pem(base64('0681072a8648ce3d0102')), true, 'with a length in two bytes'],
  [pem(`Note: 4\n\n${base64(EXPLICIT)}`), true, 'behind a header'],
  [pem(`Proc-Type: 4,ENCRYPTED\n\n${base64(EXPLICIT)}`), true, 'behind one with a hyphen'],
  [pem(`${base64(EXPLICIT)}\n-`), true, 'before a hyphen'],
  [pem(base64(EXPLICIT), 'X-CERTIFICATE'), true, 'under a label with a hyphen'],
  [pem(base64(EXPLICIT)).slice(0, -30), true, 'in one without an end'],
  [pem(`AA=${base64(EXPLICIT)}`), true, 'behind an end'],
];
for (const [text, may, rule] of cases) {
  test(`${rule}: ${may ? 'may be slow to read' : 'is quick to read'}`, () => {
    assert.equal(mayBeSlowToRead(text), may);
  });
}

test('long texts are looked into in one pass', async () => {
  for (const text of [
    pem('A'.repeat(262_144)),
    pem('A='.repeat(131_072)),
    pem(`${' '.repeat(262_144)}!`),
    '-----BEGIN '.repeat(20_000),
    '-----BEGIN -----'.repeat(16_000),
  ]) {
    await spendsAtMost(20, () => {
      mayBeSlowToRead(text);
    });
  }
});
