import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CertificatePolicy,
  certificatePolicies,
  parseCertificatePolicies,
} from './certificate-policies.ts';
import { ia5String, integer, oid, sequence, utf8String } from './der.ts';

const refused = { kind: 'invalid' };

test('policies keep their order and qualifiers', () => {
  const policies: CertificatePolicy[] = [
    { oid: '1.2.3', cps: 'https://a.test/cps', notice: 'Ünder terms' },
    { oid: '2.5.29.32.0' },
  ];
  const extension = certificatePolicies(policies);
  assert.equal(extension?.critical, false);
  assert.deepEqual(extension && parseCertificatePolicies(extension.value), policies);
});

test('no policies, no extension', () => assert.equal(certificatePolicies([]), undefined));

const unwritable: [what: string, policies: CertificatePolicy[]][] = [
  ['a policy that is no OID', [{ oid: '1.x' }]],
  ['a policy that comes twice', [{ oid: '1.2.3' }, { oid: '1.2.3', cps: 'https://a' }]],
  ['a cps beyond ASCII', [{ oid: '1.2.3', cps: 'https://é' }]],
  ['an empty cps', [{ oid: '1.2.3', cps: '' }]],
  ['an empty notice', [{ oid: '1.2.3', notice: '' }]],
  ['a notice of 201 characters', [{ oid: '1.2.3', notice: 'a'.repeat(201) }]],
  ['a notice with a line end', [{ oid: '1.2.3', notice: 'a\nb' }]],
];
for (const [what, policies] of unwritable) {
  test(`${what} is refused`, () => assert.throws(() => certificatePolicies(policies), refused));
}

test('a notice of 200 characters is written, whatever their planes', () => {
  const notice = '😀'.repeat(200);
  const extension = certificatePolicies([{ oid: '1.2.3', notice }]);
  assert.equal(extension && parseCertificatePolicies(extension.value)[0]?.notice, notice);
});

const policy = (...qualifiers: Uint8Array[]): Uint8Array =>
  sequence(sequence(oid('1.2.3'), sequence(...qualifiers)));
const USER_NOTICE = oid('1.3.6.1.5.5.7.2.2');

test('a reference in a notice and unknown qualifiers are passed over', () => {
  const reference = sequence(utf8String('Org'), sequence(integer(1)));
  const der = policy(
    sequence(USER_NOTICE, sequence(reference, utf8String('text'))),
    sequence(oid('1.2.9'), integer(1)),
  );
  assert.deepEqual(parseCertificatePolicies(der), [{ oid: '1.2.3', notice: 'text' }]);
});

const malformed: [what: string, der: Uint8Array][] = [
  ['no policies', sequence()],
  ['a cps that is no IA5String', policy(sequence(oid('1.3.6.1.5.5.7.2.1'), utf8String('a')))],
  ['a notice that is no SEQUENCE', policy(sequence(USER_NOTICE, ia5String('a')))],
  [
    'a notice with a stray field',
    policy(sequence(USER_NOTICE, sequence(utf8String('a'), integer(1)))),
  ],
  ['a qualifier without content', policy(sequence(USER_NOTICE))],
];
for (const [what, der] of malformed) {
  test(`policies with ${what} are not read`, () =>
    assert.throws(() => parseCertificatePolicies(der), refused));
}
