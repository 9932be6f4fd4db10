import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Failure } from './failure.ts';
import { encodePem, parsePem } from './pem.ts';

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7) & 0xff);

test('a block reads back as written, whatever its length', () => {
  for (const length of [1, 2, 3, 47, 48, 49, 96, 1000]) {
    const [block, none] = parsePem(encodePem('X509 CRL', bytes(length)));
    assert.deepEqual(block, { label: 'X509 CRL', der: bytes(length) });
    assert.equal(none, undefined);
  }
});

test('lines are 64 characters wide and the last newline is there only when asked for', () => {
  const lines = encodePem('CERTIFICATE', bytes(100)).split('\n');
  assert.deepEqual(
    lines.map((line) => line.length),
    [27, 64, 64, 8, 25],
  );
  assert.equal(
    encodePem('X', bytes(1), { trailingNewline: true }),
    '-----BEGIN X-----\nAA==\n-----END X-----\n',
  );
});

const block = '-----BEGIN A B-----\nAAAA\n-----END A B-----';
const accepted: [text: string, labels: string[], why: string][] = [
  ['', [], 'an empty text has no blocks'],
  ['nothing here', [], 'a text without markers has no blocks'],
  [
    `Subject: CN=x\n\n${block}\nBag Attributes\n  a: b\n${block}`,
    ['A B', 'A B'],
    'text around blocks is passed over',
  ],
  [`${block}${block}`, ['A B', 'A B'], 'a block may follow on the same line'],
  [`   ${block}`, ['A B'], 'blanks may stand before a block'],
  [block.replaceAll('\n', '\r\n'), ['A B'], 'lines may end in CR LF'],
  [block.replaceAll('\n', ''), ['A B'], 'a text that lost its line ends still reads'],
  [`x${block}`, [], 'a marker in the middle of a word is no marker'],
];

for (const [text, labels, why] of accepted) {
  test(`PEM: ${why}`, () => {
    assert.deepEqual(
      parsePem(text).map(({ label }) => label),
      labels,
    );
  });
}

const refused: [text: string, says: RegExp, why: string][] = [
  [
    '-----BEGIN A-----\nAAAA\n',
    /block 0: invalid PEM data: no END marker/,
    'a block without an end',
  ],
  ['-----BEGIN A-----\nAAAA\n-----END B-----', /no END marker/, 'an end with another label'],
  ['-----BEGIN A-----\nAAAA\n-----end A-----', /no END marker/, 'an end in lower case'],
  ['-----BEGIN A-----\nAAA\n-----END A-----', /not base64/, 'missing padding'],
  ['-----BEGIN A-----\nAA-_\n-----END A-----', /not base64/, 'the URL alphabet'],
  ['-----BEGIN A-----\nAAB=\n-----END A-----', /not base64/, 'bits beyond the last byte'],
  ['-----BEGIN A-----\nAA==AAAA\n-----END A-----', /not base64/, 'data after padding'],
  ['-----BEGIN A-----\nAA\0A\n-----END A-----', /not base64/, 'a NUL among the base64'],
  ['-----BEGIN A-----\n-----END A-----', /nothing between/, 'an empty block'],
  ['-----BEGIN -----\nAAAA\n-----END -----', /no label/, 'an empty label'],
  ['-----BEGIN Ab-----\nAAAA\n-----END Ab-----', /no label/, 'a label in lower case'],
  ['-----BEGIN  A-----\nAAAA\n-----END  A-----', /no label/, 'a label with two blanks'],
  ['-----BEGIN A', /no END marker/, 'a marker cut short'],
  [`-----BEGIN ${'A'.repeat(65)}-----\nAAAA\n`, /no label/, 'an endless label'],
  [
    '-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END A-----',
    /decrypted/,
    'header lines',
  ],
  [`${block}\n-----BEGIN A-----\n!\n-----END A-----`, /block 1:/, 'a bad block after a good one'],
];

for (const [text, says, why] of refused) {
  test(`PEM: ${why} is refused`, () => {
    assert.throws(
      () => parsePem(text),
      (error) => error instanceof Failure && error.kind === 'invalid' && says.test(error.message),
    );
  });
}

test('as many blocks and characters as the caps say are accepted, one more is not', () => {
  const two = `${block}\n${block}`;
  assert.equal(parsePem(two, { maxLength: two.length, maxBlocks: 2 }).length, 2);
  assert.throws(() => parsePem(two, { maxLength: two.length - 1, maxBlocks: 2 }), Failure);
  assert.throws(() => parsePem(two, { maxLength: two.length, maxBlocks: 1 }), Failure);
});

test('a refusal repeats nothing of a key that stands where a label belongs', () => {
  const secret = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49';
  for (const text of [`-----BEGIN ${secret}-----\n`, `-----BEGIN A ${secret}-----\n`]) {
    assert.throws(
      () => parsePem(text),
      (error) => error instanceof Failure && !error.message.includes(secret),
    );
  }
});
