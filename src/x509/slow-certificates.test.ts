import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { encodePem } from '../core/pem.ts';
import {
  bitString,
  boolean,
  contextConstructed,
  contextPrimitive,
  octetString,
  oid,
  sequence,
  setOf,
} from './der.ts';
import { mayBeSlow, mayBeSlowToRead } from './slow-certificates.ts';

const hex = (text: string): Uint8Array => Buffer.from(text, 'hex');

const EC_KEY = '06072a8648ce3d0201';
const P_256 = '06082a8648ce3d030107';
const point = (first: string, bytes = 64): Uint8Array => hex(first + '11'.repeat(bytes));
const keyOf = (algorithm: string, key: Uint8Array): Uint8Array =>
  sequence(sequence(hex(algorithm)), bitString(key));
const EC = keyOf(EC_KEY + P_256, point('04'));

const NAME = sequence(setOf(sequence(oid('2.5.4.3'), hex('0c0161'))));
const SIGNED = sequence(oid('1.2.840.10045.4.3.2'));
const SIGNATURE = bitString(hex('3000'));

/** What OpenSSL reads as a certificate; who signed it, and how, is asked later. */
function certificateOf(key: Uint8Array, extensions: readonly Uint8Array[] = []): Uint8Array {
  const fields = [hex('a003020102'), hex('020101'), SIGNED, NAME, sequence(), NAME, key];
  if (extensions.length > 0) fields.push(contextConstructed(3, sequence(...extensions)));
  return sequence(sequence(...fields), SIGNED, SIGNATURE);
}

const RSA = sequence(hex(`02818100b${'1'.repeat(255)}`), hex('0203010001'));
const LONG_EXPONENT = sequence(hex(`02818100b${'1'.repeat(255)}`), hex(`0240${'7f'.repeat(64)}`));

const keys: [what: string, key: Uint8Array, may: boolean][] = [
  ['RSA', keyOf('06092a864886f70d0101010500', RSA), false],
  ['RSA with a long exponent', keyOf('06092a864886f70d0101010500', LONG_EXPONENT), true],
  ['a point on a named curve', EC, false],
  ['one of one coordinate', keyOf(EC_KEY + P_256, point('02', 32)), true],
  ['the other one with that', keyOf(EC_KEY + P_256, point('03', 32)), true],
  ['a point in a form of its own', keyOf(EC_KEY + P_256, point('06')), true],
  ['a point on another curve', keyOf(`${EC_KEY}06052b81040026`, point('04', 72)), true],
  [
    'a curve whose name has its length in two bytes',
    keyOf(`${EC_KEY}0681052b81040021`, point('04', 56)),
    true,
  ],
  ['a kind that is named in another way', keyOf(`06082a811ccf5501822d${P_256}`, point('04')), true],
  ['a curve that describes itself', keyOf(`${EC_KEY}3003020101`, point('04')), true],
  ['Ed25519', keyOf('06032b6570', point('', 32)), false],
  ['ML-DSA-44', keyOf('0609608648016503040311', Buffer.alloc(1_312, 1)), true],
  ['SLH-DSA-SHA2-128s', keyOf('0609608648016503040314', Buffer.alloc(32, 1)), true],
  ['X25519', keyOf('06032b656e', point('', 32)), true],
  ['DSA', keyOf('06072a8648ce380401', hex('020105')), true],
];
for (const [what, key, may] of keys) {
  test(`a key, ${what}: ${may ? 'may be slow' : 'is quick'}`, () => {
    assert.equal(mayBeSlow([certificateOf(EC), certificateOf(key)]), may);
  });
}

const whole = Buffer.from(certificateOf(EC));
const shapes: [what: string, der: Uint8Array, may: boolean][] = [
  ['a certificate', whole, false],
  ['nothing', hex(''), true],
  ['one with something behind it', Buffer.concat([whole, hex('0500')]), true],
  ['one that ends early', whole.subarray(0, -1), true],
  [
    'one of the first version',
    sequence(
      sequence(...['020101'].map(hex), SIGNED, NAME, sequence(), NAME, EC),
      SIGNED,
      SIGNATURE,
    ),
    false,
  ],
  ['one without a length', Buffer.concat([hex('3080'), whole.subarray(2), hex('0000')]), true],
];
for (const [what, der, may] of shapes) {
  test(`${what}: ${may ? 'may be slow' : 'is quick'}`, () => {
    assert.equal(mayBeSlow([der]), may);
  });
}

const POINTS = oid('2.5.29.31');
const url = contextPrimitive(6, Buffer.from('http://ca.test/crl'));
const attribute = sequence(oid('2.5.4.3'), hex('0c0161'));
const full = contextConstructed(0, contextConstructed(0, url));
const relative = contextConstructed(0, contextConstructed(1, attribute));
/** Who signs the list: a whole name, in the place of a tag that is like the other one. */
const signer = contextConstructed(2, contextConstructed(4, sequence(setOf(attribute))));
const reasons = contextPrimitive(1, hex('0780'));

const pointsOf = (...points: Uint8Array[]): Uint8Array => octetString(sequence(...points));
const extension = (...parts: Uint8Array[]): Uint8Array => sequence(...parts);
const pointsIn = (...points: Uint8Array[]): Uint8Array => extension(POINTS, pointsOf(...points));

/** Name constraints of so many bytes in all. */
function constraintsOf(bytes: number): Uint8Array {
  const name = bytes - 16;
  const subtree = sequence(contextPrimitive(2, Buffer.alloc(name, 0x61)));
  const value = sequence(contextConstructed(1, subtree));
  assert.equal(value.length, bytes);
  return extension(oid('2.5.29.30'), boolean(true), octetString(value));
}

/** Each is the extension of a certificate of its own. */
const parts: [what: string, extensions: Uint8Array[], may: boolean][] = [
  ['a point with an address', [pointsIn(sequence(full))], false],
  ['the same, critical', [extension(POINTS, boolean(true), pointsOf(sequence(full)))], false],
  ['one with a signer of its own', [pointsIn(sequence(full, reasons, signer))], false],
  ['a signer alone', [pointsIn(sequence(signer))], false],
  ['a point with nothing', [pointsIn(sequence())], false],
  ['of eighty points each with an address', [pointsIn(...Array(80).fill(sequence(full)))], false],
  ['a list in each of five', Array(5).fill(pointsIn(sequence(full))), false],
  ['a list twice in one', [Buffer.concat(Array(2).fill(pointsIn(sequence(full))))], true],
  ['a point with a relative name', [pointsIn(sequence(relative))], true],
  ['the same, critical', [extension(POINTS, boolean(true), pointsOf(sequence(relative)))], true],
  ['one with a signer besides', [pointsIn(sequence(relative, signer))], true],
  ['a relative name behind a signer', [pointsIn(sequence(signer, relative))], true],
  [
    'one in the last point',
    [pointsIn(...Array(80).fill(sequence(full)), sequence(relative))],
    true,
  ],
  ['one in the second', [pointsIn(sequence(full)), pointsIn(sequence(relative))], true],
  [
    'what is like one within another field of a point',
    [extension(POINTS, octetString(sequence(sequence(octetString(pointsIn(sequence(relative)))))))],
    false,
  ],
  ['a list in pieces', [extension(POINTS, hex('2480040230000000'))], true],
  ['a list without a length', [extension(POINTS, octetString(hex('30800000')))], true],
  ['a list that ends early', [extension(POINTS, octetString(hex('3003')))], true],
  [
    'what says whether it is critical in two bytes',
    [sequence(hex('0603551d1f0181010404023000'))],
    true,
  ],
  ['what it is with a length in two bytes', [sequence(hex('068103551d1f04023000'))], true],
  ['what is no list', [sequence(hex('0603551d1f0500'))], true],
  [
    'another extension with such bytes',
    [extension(oid('2.5.29.46'), octetString(relative))],
    false,
  ],
  ['name constraints', [constraintsOf(4096)], false],
  ['name constraints that are longer', [constraintsOf(4097)], true],
  ['name constraints in two', [constraintsOf(3000), constraintsOf(1096)], false],
  ['longer ones in two', [constraintsOf(3000), constraintsOf(1097)], true],
  ['name constraints in pieces', [extension(oid('2.5.29.30'), hex('2480040230000000'))], true],
];
for (const [what, extensions, may] of parts) {
  test(`${what}: ${may ? 'may be slow' : 'is quick'}`, () => {
    const all = extensions.map((one) => certificateOf(EC, [one]));
    assert.equal(mayBeSlow(all), may);
    assert.equal(mayBeSlowToRead(all.map((der) => encodePem('CERTIFICATE', der)).join('\n')), may);
  });
}

const pem = (body: string, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
const quick = whole.toString('base64');
const slow = Buffer.from(certificateOf(keyOf(`${EC_KEY}3003020101`, point('04')))).toString(
  'base64',
);

const texts: [text: string, may: boolean, rule: string][] = [
  ['', false, 'nothing'],
  [pem(quick), false, 'a certificate'],
  [`# a CA - of ours\n${pem(quick)}-- \n`, false, 'words outside'],
  [pem(quick.replace(/(.{7})/g, '$1\r\n  ')), false, 'short lines'],
  [pem(quick).repeat(256), false, 'as many as may be'],
  [pem(quick).repeat(257), true, 'more than anybody trusts'],
  [pem(slow), true, 'a slow one'],
  [pem(slow, 'TRUSTED CERTIFICATE'), true, 'under another label'],
  [`${pem(quick)}${pem(slow)}`, true, 'in the second'],
  [pem(`Note: 4\n\n${slow}`), true, 'behind a header'],
  [pem(`Proc-Type: 4,ENCRYPTED\n\n${slow}`), true, 'behind one with a hyphen'],
  [pem(`${slow}\n-`), true, 'before a hyphen'],
  [pem(slow, 'X-CERTIFICATE'), true, 'under a label with a hyphen'],
  [pem(slow).slice(0, -30), true, 'in one without an end'],
  [pem(`AA=${slow}`), true, 'behind an end'],
  [pem('AAAA'), true, 'what is no certificate'],
];
for (const [text, may, rule] of texts) {
  test(`PEM with ${rule}: ${may ? 'may be slow to read' : 'is quick to read'}`, () => {
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

for (const [bytes, may] of [
  [16_384, false],
  [16_385, true],
] as const) {
  test(`a certificate of ${bytes} bytes ${may ? 'may be slow' : 'is quick'} to read`, () => {
    const filled = (length: number) =>
      certificateOf(EC, [extension(oid('1.2.3'), octetString(Buffer.alloc(length)))]);
    const long = filled(16_000 + bytes - filled(16_000).length);
    assert.equal(long.length, bytes);
    const text = `${encodePem('CERTIFICATE', whole)}\n${encodePem('CERTIFICATE', long)}`;
    assert.equal(mayBeSlowToRead(text), may);
    // What a server sends is bounded as a whole.
    assert.equal(mayBeSlow([long]), false);
  });
}

test('those that systems trust are quick to read, all together', () => {
  assert.ok(rootCertificates.length > 100);
  assert.equal(mayBeSlowToRead(rootCertificates.join('\n')), false);
});

test('certificates with as many points, extensions or fields as fit are looked into in one pass', async () => {
  const points = certificateOf(EC, [pointsIn(...Array(7_000).fill(sequence()))]);
  const others = certificateOf(EC, Array(3_000).fill(sequence(oid('1.2'), octetString(hex('')))));
  const fields = sequence(...Array(5_000).fill(hex('020101')));
  const full = sequence(fields, SIGNED, SIGNATURE);
  for (const one of [points, others, full]) {
    const text = encodePem('CERTIFICATE', one).concat('\n').repeat(12);
    await spendsAtMost(30, () => {
      mayBeSlowToRead(text);
    });
  }
});
