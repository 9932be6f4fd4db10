import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import {
  type CertificateFields,
  judgeHostKey,
  makeCertificate,
  parseCertificate,
  parseCertificateLine,
} from './certificate.ts';
import { encodePublicKey, parsePublicKeyLine } from './public-key.ts';
import { encodeString } from './wire.ts';

const NOW = 1_795_262_400;
const fields: CertificateFields = {
  serial: 7n,
  use: 'host',
  key_id: 'a host',
  principals: ['host.example', '*.inside.example'],
  valid_after: BigInt(NOW - 60),
  valid_before: BigInt(NOW + 60),
  critical_options: {},
  extensions: {},
};

interface Pair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}
const ed25519 = (): Pair => generateKeyPairSync('ed25519');
const authority = ed25519();
const host = ed25519();
const authorityOf = ({ privateKey, publicKey }: Pair) => ({
  key: privateKey,
  public_key: encodePublicKey(publicKey),
  nonce: Buffer.alloc(32, 3),
});
const made = (changes: Partial<CertificateFields> = {}, by = authority): Buffer =>
  makeCertificate(host.publicKey, { ...fields, ...changes }, authorityOf(by));

const known = {
  keys: [],
  authorities: [encodePublicKey(authority.publicKey)],
  name: 'host.example',
};
const KEY = 'its host key is none of attributes.host_keys';

const cases: [shown: Buffer, name: string, because: string | undefined, why: string][] = [
  [made(), 'host.example', undefined, 'its name'],
  [made(), 'HOST.Example', undefined, 'its name in other letters'],
  [made(), 'a.inside.example', undefined, 'a name that fits a pattern'],
  [
    made({ principals: ['ban\u212a.example'] }),
    'bank.example',
    'its host certificate does not name it',
    'a name with a Kelvin sign, which is a k in small letters',
  ],
  [made(), 'inside.example', 'its host certificate does not name it', 'what is above a pattern'],
  [made(), 'xhost.example', 'its host certificate does not name it', 'a longer name'],
  [
    made({ principals: [] }),
    'host.example',
    'its host certificate does not name it',
    'no name at all',
  ],
  [made({ principals: ['h?st.*'] }), 'host.example', undefined, 'marks within a name'],
  [made({ use: 'user' }), 'host.example', 'it shows a certificate of a user', 'of a user'],
  [
    made({ valid_before: BigInt(NOW) }),
    'host.example',
    'its host certificate is not valid at this time',
    'run out at this second',
  ],
  [made({ valid_before: BigInt(NOW + 1) }), 'host.example', undefined, 'in its last second'],
  [
    made({ valid_after: BigInt(NOW + 1) }),
    'host.example',
    'its host certificate is not valid at this time',
    'a second too early',
  ],
  [
    made({ critical_options: { 'what-is-it': 'x' } }),
    'host.example',
    'its host certificate has a critical option, and none is known for hosts',
    'a critical option',
  ],
  [
    made({}, ed25519()),
    'host.example',
    'its host certificate is of no authority of attributes.host_ca_keys',
    'another authority',
  ],
  [encodePublicKey(host.publicKey).blob, 'host.example', KEY, 'its bare key'],
  [encodePublicKey(authority.publicKey).blob, 'host.example', KEY, "the authority's own key"],
];

for (const [shown, name, because, why] of cases) {
  test(`a host is ${because ? 'not ' : ''}known by ${why}, as ${name}`, () => {
    const verdict = judgeHostKey(shown, { ...known, name }, NOW * 1000);
    assert.deepEqual(verdict, because ? { trusted: false, because } : { trusted: true });
  });
}

test('a pinned key is known, and a certificate of it alone is not', () => {
  const pinned = { keys: [encodePublicKey(host.publicKey)], authorities: [], name: 'host.example' };
  assert.ok(judgeHostKey(encodePublicKey(host.publicKey).blob, pinned, NOW * 1000).trusted);
  assert.ok(!judgeHostKey(made(), pinned, NOW * 1000).trusted);
});

test('a certificate that was changed in any byte is none, and so is one with more behind it', () => {
  const blob = made();
  assert.deepEqual(parseCertificate(blob)?.principals, fields.principals);
  for (let at = 0; at < blob.length; at++) {
    const changed = Buffer.from(blob);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(parseCertificate(changed), undefined, `byte ${at}`);
  }
  assert.equal(parseCertificate(Buffer.concat([blob, Buffer.of(0)])), undefined);
});

const subjects: [name: string, pair: Pair][] = [
  ['ed25519', ed25519()],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ['P-256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
];

for (const [of, subject] of subjects) {
  for (const [by, signer] of subjects) {
    test(`a certificate of ${of} by ${by} reads as it was made`, () => {
      const user = { ...fields, use: 'user', extensions: { 'permit-pty': '' } } as const;
      const options = {
        critical_options: { 'force-command': 'id', 'source-address': '10.0.0.0/8' },
      };
      const blob = makeCertificate(subject.publicKey, { ...user, ...options }, authorityOf(signer));
      const type = new TextDecoder().decode(blob.subarray(4, 4 + (blob[3] ?? 0)));
      const read = parseCertificateLine(`${type} ${blob.toString('base64')} comment`);
      assert.ok(read);
      assert.ok(read.key.equals(subject.publicKey));
      const { key, key_type, signed_by, blob: _, type: __, ...rest } = read;
      assert.deepEqual(rest, { ...user, ...options });
    });
  }
}

const line = encodePublicKey(host.publicKey).blob.toString('base64');
const lines: [line: string, isKey: boolean, why: string][] = [
  [`ssh-ed25519 ${line}`, true, 'a type and its key'],
  [`ssh-ed25519 ${line} root@host, since 2026`, true, 'with a comment'],
  [`ssh-rsa ${line}`, false, 'another type than the key has'],
  [`host.example ssh-ed25519 ${line}`, false, 'a host before it, as in known_hosts'],
  [` ssh-ed25519 ${line}`, false, 'a space before it'],
  [`ssh-ed25519 ${line}\nssh-ed25519 ${line}`, false, 'two lines'],
  [`ssh-ed25519 ${line.slice(4)}`, false, 'a piece of it'],
  [`ssh-ed25519-cert-v01@openssh.com ${made().toString('base64')}`, false, 'a certificate'],
  ['', false, 'nothing'],
];

for (const [text, isKey, why] of lines) {
  test(`a line is ${isKey ? 'a' : 'no'} public key: ${why}`, () => {
    assert.equal(parsePublicKeyLine(text) !== undefined, isKey);
  });
}

/** As it is sent, with as many zeros before its numbers as are wanted. */
function rsaLine(bits: number, { zeros = 0, e }: { zeros?: number; e?: Buffer } = {}): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const jwk = publicKey.export({ format: 'jwk' });
  const [exponent, modulus] = [jwk.e, jwk.n].map((text) => Buffer.from(text ?? '', 'base64url'));
  const blob = Buffer.concat([
    encodeString('ssh-rsa'),
    encodeString(e ?? exponent ?? ''),
    encodeString(Buffer.concat([Buffer.alloc(zeros + 1), modulus ?? Buffer.alloc(0)])),
  ]);
  return `ssh-rsa ${blob.toString('base64')}`;
}

for (const [text, isKey, why] of [
  [rsaLine(2048), true, '2048 bits'],
  [
    rsaLine(2048, { zeros: 3 }),
    false,
    'the same with zeros before it, which is no form of a number',
  ],
  [rsaLine(1024), false, '1024 bits'],
  [rsaLine(1024, { zeros: 200 }), false, '1024 bits that are made longer by zeros'],
  [rsaLine(2048, { e: Buffer.of(3) }), true, 'the exponent 3'],
  [rsaLine(2048, { e: Buffer.of(1) }), false, 'the exponent 1, with which everybody signs'],
  [rsaLine(2048, { e: Buffer.of(0, 1) }), false, 'the same with a zero before it'],
  [rsaLine(2048, { e: Buffer.of(1, 0) }), false, 'an even exponent'],
  [rsaLine(2048, { e: Buffer.alloc(9, 0x11) }), false, 'an exponent that is too long'],
] as const) {
  test(`an RSA key is ${isKey ? 'one' : 'none'}: ${why}`, () => {
    assert.equal(parsePublicKeyLine(text) !== undefined, isKey);
  });
}
