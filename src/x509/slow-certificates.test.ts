import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { encodePem } from '../core/pem.ts';
import {
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

const parts: [what: string, der: Uint8Array[], may: boolean][] = [
  ['no extension', [], false],
  ['a point with an address', [pointsIn(sequence(full))], false],
  ['the same, critical', [extension(POINTS, boolean(true), pointsOf(sequence(full)))], false],
  ['one with a signer of its own', [pointsIn(sequence(full, reasons, signer))], false],
  ['a signer alone', [pointsIn(sequence(signer))], false],
  ['a point with nothing', [pointsIn(sequence())], false],
  ['of eighty points each with an address', [pointsIn(...Array(80).fill(sequence(full)))], false],
  ['a list in each of five', Array(5).fill(pointsIn(sequence(full))), false],
  ['a hundred lists, one behind the other', [Buffer.concat(Array(100).fill(pointsIn()))], false],
  ['a list in a point of another one', [pointsIn(sequence(octetString(pointsIn())))], true],
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
    'one in a list that another one covers',
    [extension(POINTS, octetString(sequence(sequence(octetString(pointsIn(sequence(relative)))))))],
    true,
  ],
  ['a list in pieces', [extension(POINTS, hex('2480040230000000'))], true],
  ['a list without a length', [extension(POINTS, octetString(hex('30800000')))], true],
  ['a list that ends early', [extension(POINTS, octetString(hex('3003')))], true],
  ['what says whether it is critical in two bytes', [hex('0603551d1f0181010404023000')], true],
  ['what it is with a length in two bytes', [hex('068103551d1f04023000')], true],
  ['what is no list', [hex('0603551d1f05')], true],
  [
    'another extension with such bytes',
    [extension(oid('2.5.29.46'), octetString(relative))],
    false,
  ],
  ['such bytes without a length', [hex('55551d1f0102')], false],
  ['name constraints', [constraintsOf(4096)], false],
  ['name constraints that are longer', [constraintsOf(4097)], true],
  ['name constraints in two', [constraintsOf(3000), constraintsOf(1096)], false],
  ['longer ones in two', [constraintsOf(3000), constraintsOf(1097)], true],
  ['name constraints in pieces', [extension(oid('2.5.29.30'), hex('2480040230000000'))], true],
];
for (const [what, der, may] of parts) {
  test(`${what}: ${may ? 'may be slow' : 'is quick'}`, () => {
    const bytes = der.map((part) => Buffer.from(part));
    assert.equal(mayBeSlow(bytes), may);
    const pem = bytes.map((part) => encodePem('CERTIFICATE', Buffer.concat([part, hex('0500')])));
    assert.equal(mayBeSlowToRead(pem.join('\n')), may, 'as PEM');
  });
}

const lengths: [bytes: number, may: boolean][] = [
  [16_384, false],
  [16_385, true],
];
for (const [bytes, may] of lengths) {
  test(`a certificate of ${bytes} bytes ${may ? 'may be slow' : 'is quick'} to read`, () => {
    const long = encodePem('CERTIFICATE', Buffer.alloc(bytes));
    const short = encodePem('CERTIFICATE', Buffer.alloc(9));
    assert.equal(mayBeSlowToRead(`${short}\n${long}`), may);
  });
}

test('those that systems trust are quick to read, all together', () => {
  assert.ok(rootCertificates.length > 100);
  assert.equal(mayBeSlowToRead(rootCertificates.join('\n')), false);
});

/** Lists of points, each within the first point of the one before, and all with all the points behind it. */
function overlapping(lists: number, bytes: number): Buffer {
  const points = Buffer.from('3000'.repeat(bytes / 2), 'hex');
  let all = points;
  for (let list = 0; list < lists; list += 1) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(all.length);
    const behind = Buffer.concat([Buffer.from('3082', 'hex'), length]);
    length.writeUInt16BE(all.length + 4);
    const before = Buffer.concat([Buffer.from('300f040d0603551d1f0482', 'hex'), length]);
    all = Buffer.concat([before, behind, all]);
  }
  return all;
}

test('lists within lists are looked into once', async () => {
  const text = encodePem('CERTIFICATE', overlapping(32, 15_000)).concat('\n').repeat(12);
  await spendsAtMost(20, () => assert.equal(mayBeSlowToRead(text), true));
});

test('lists that reach over all that follow are looked into a few times only', async () => {
  const begin = [...hex('0603551d1f0482ffff'), ...hex('3082fffb')];
  const long = Buffer.concat([Buffer.from(Array(600).fill(begin).flat()), Buffer.alloc(8000, 5)]);
  const texts = encodePem('CERTIFICATE', long).concat('\n').repeat(12);
  await spendsAtMost(20, () => {
    mayBeSlowToRead(texts);
    mayBeSlow([Buffer.concat(Array(600).fill(pointsIn(...Array(20).fill(sequence(full)))))]);
  });
});
