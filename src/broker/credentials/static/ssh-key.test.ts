import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { LOCKED } from '../../../../test/support/locked-ssh-key.ts';
import { integer, octetString, oid, sequence, unsignedInteger } from '../../../x509/der.ts';
import { deriveBcryptKey, fractionOfPi } from './bcrypt-pbkdf.ts';
import { canUnlock, judgeSshKey, UNLOCK_LENGTH } from './ssh-key.ts';

/** Made by ssh-keygen for this test alone. */
const OPEN = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACAkVzSVVSwjZRvbjCj1xIvh10N8/vR5e+ivIgklmffpfgAAAIhPxSPqT8Uj
6gAAAAtzc2gtZWQyNTUxOQAAACAkVzSVVSwjZRvbjCj1xIvh10N8/vR5e+ivIgklmffpfg
AAAEC1xUhYQC/flkeG7wXUfsa+xQT9hYBeB3uqqDOg9LblUiRXNJVVLCNlG9uMKPXEi+HX
Q3z+9Hl76K8iCSWZ9+l+AAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----`;

const classic = (passphrase?: string): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export(
      passphrase === undefined
        ? { type: 'sec1', format: 'pem' }
        : { type: 'sec1', format: 'pem', cipher: 'aes-256-cbc', passphrase },
    )
    .toString();

const CLASSIC_CIPHERS = ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc'];
const KINDS: [what: string, key: KeyObject, type: 'pkcs1' | 'sec1' | 'pkcs8'][] = [
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'pkcs1'],
  ['EC', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, 'sec1'],
  ['PKCS#8', generateKeyPairSync('ed25519').privateKey, 'pkcs8'],
];

for (const [what, key, type] of KINDS) {
  test(`a classic ${what} key opens`, () => {
    const pem = key.export({ type, format: 'pem' }).toString();
    assert.deepEqual(judgeSshKey(pem, ''), { kind: 'open' });
    assert.deepEqual(judgeSshKey(pem.replaceAll('\n', '\r\n'), ''), { kind: 'open' });
  });
  if (type === 'pkcs8') continue;
  for (const cipher of CLASSIC_CIPHERS) {
    test(`a classic ${what} key that is locked by ${cipher} opens with its own passphrase alone`, () => {
      const options = { type, format: 'pem', cipher, passphrase: 'sécret' } as const;
      const pem = key.export(options).toString();
      assert.deepEqual(judgeSshKey(pem, 'sécret'), { kind: 'open' });
      assert.deepEqual(judgeSshKey(pem, 'secret'), { kind: 'wrong_passphrase' });
    });
  }
}

test('a key of a kind that SSH has not is none', () => {
  for (const { privateKey } of [
    generateKeyPairSync('ml-dsa-44'),
    generateKeyPairSync('slh-dsa-sha2-128f'),
  ]) {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    assert.equal(judgeSshKey(pem, '').kind, 'unusable');
  }
});

/** A PKCS#8 key that takes a million rounds to open, some 400 ms; it could be two thousand million. */
function slowKey(): Uint8Array {
  const none = Uint8Array.of(5, 0);
  const hmacSha256 = sequence(oid('1.2.840.113549.2.9'), none);
  const rounds = sequence(octetString(new Uint8Array(8)), integer(1_000_000), hmacSha256);
  const pbkdf2 = sequence(oid('1.2.840.113549.1.5.12'), rounds);
  const aes = sequence(oid('2.16.840.1.101.3.4.1.42'), octetString(new Uint8Array(16)));
  const pbes2 = sequence(oid('1.2.840.113549.1.5.13'), sequence(pbkdf2, aes));
  return sequence(pbes2, octetString(new Uint8Array(64)));
}

/** A DSA key whose public half is a power of numbers of so many bits. */
function longKey(bits: number): Uint8Array {
  const number = unsignedInteger(new Uint8Array(bits / 8).fill(0x7f));
  const parameters = sequence(number, number, unsignedInteger(Uint8Array.of(2)));
  const algorithm = sequence(oid('1.2.840.10040.4.1'), parameters);
  return sequence(integer(0), algorithm, octetString(number));
}

const block = (label: string, der: Uint8Array, { blank = '', header = '' } = {}): string =>
  `-----BEGIN ${label}-----${blank}\n${header}${Buffer.from(der).toString('base64')}\n-----END ${label}-----\n`;
const LOCKED_HEADER = 'Proc-Type: 4,ENCRYPTED\n';

const slow: [what: string, pem: string][] = [
  [
    'that only others read as a key, before one that we read',
    block('ENCRYPTED PRIVATE KEY', slowKey(), { blank: ' ' }) + classic('secret'),
  ],
  ['that is locked in two ways', block('PRIVATE KEY', slowKey(), { header: LOCKED_HEADER })],
  ['with a header behind', block('RSA PRIVATE KEY', slowKey(), { header: `\n\n${LOCKED_HEADER}` })],
  ['under another label', block('PRIVATE KEY', slowKey())],
  ['of another kind, with long numbers', block('PRIVATE KEY', longKey(12_288))],
];

for (const [what, pem] of slow) {
  test(`no key takes as long to judge as its sender likes: one ${what}`, async () => {
    await spendsAtMost(50, () => assert.notEqual(judgeSshKey(pem, 'x').kind, 'open'));
  });
}

const verdicts: [what: string, pem: string, passphrase: string, kind: string, because?: RegExp][] =
  [
    ['junk', 'junk', '', 'unusable', /^ssh: no key found$/],
    ['a classic key', classic(), '', 'open'],
    ['a locked classic key with its passphrase', classic('secret'), 'secret', 'open'],
    ['a locked classic key with another', classic('secret'), 'other', 'wrong_passphrase'],
    ['a locked classic key with none', classic('secret'), '', 'unusable', /passphrase protected$/],
    ['an OpenSSH key', OPEN, '', 'open'],
    ['a locked OpenSSH key', LOCKED, 'secret', 'locked'],
    ['a locked OpenSSH key with no passphrase', LOCKED, '', 'unusable', /passphrase protected$/],
    [
      'half a key',
      `${OPEN.slice(0, 200)}\n-----END OPENSSH PRIVATE KEY-----`,
      '',
      'unusable',
      /well-formed/,
    ],
    [
      'a certificate',
      '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----',
      '',
      'unusable',
      /unsupported/,
    ],
  ];

for (const [what, pem, passphrase, kind, because] of verdicts) {
  test(`${what} is ${kind}`, () => {
    const verdict = judgeSshKey(pem, passphrase);
    assert.equal(verdict.kind, kind);
    if (because && verdict.kind === 'unusable') assert.match(verdict.because, because);
  });
}

function derive(passphrase: string): boolean {
  const verdict = judgeSshKey(LOCKED, passphrase);
  assert.ok(verdict.kind === 'locked');
  const { salt, rounds } = verdict.key;
  const work = deriveBcryptKey(passphrase, salt, rounds, UNLOCK_LENGTH);
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return canUnlock(verdict.key, step.value);
  }
}

test('a locked OpenSSH key opens with its own passphrase', () => {
  assert.equal(derive('secret'), true);
});

test('a locked OpenSSH key does not open with another passphrase', () => {
  assert.equal(derive('Secret'), false);
});

test('the first words of pi are those of every Blowfish', () => {
  assert.deepEqual([...fractionOfPi(3)], [0x243f6a88, 0x85a308d3, 0x13198a2e]);
});

test('blocks without an end before a key are passed over, so many and no more', () => {
  const open = (count: number): string => '-----BEGIN RSA PRIVATE KEY-----\n'.repeat(count);
  assert.equal(judgeSshKey(open(15) + OPEN, '').kind, 'open');
  assert.equal(judgeSshKey(open(16) + OPEN, '').kind, 'unusable');
});

test('a text full of beginnings is read in time that grows with it', async () => {
  const text = '-----BEGIN A-----\n'.repeat(3_600);
  await spendsAtMost(50, () => assert.equal(judgeSshKey(text, '').kind, 'unusable'));
});
