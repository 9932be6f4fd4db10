import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, makeContext, makeCsr, NOW } from '../../../test/support/leaves.ts';
import type { TbsCertificate } from '../../x509/certificate.ts';
import { sequence } from '../../x509/der.ts';
import { readDer } from '../../x509/der-reader.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  findExtension,
  subjectAltName,
} from '../../x509/extensions.ts';
import { extKeyUsage, keyUsage, parseExtKeyUsage, parseKeyUsage } from '../../x509/key-usages.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import { encodeSubject, parseName, type SubjectFields } from '../../x509/names.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID } from '../../x509/oids.ts';
import { commonNamesOf, fieldsOfWholeCsr } from './csr-fields.ts';
import { readCsr } from './csr-rules.ts';
import type { IssuingFacts } from './issuing.ts';
import { planCertificate } from './plan.ts';
import { verbatimSchema } from './request.ts';
import { csrNames, planVerbatim, type VerbatimRole } from './verbatim.ts';

interface Wanted {
  subject?: SubjectFields;
  extensions?: Extension[];
  key?: 'ec' | 'mldsa-44';
  body?: Record<string, unknown>;
  role?: VerbatimRole;
  issuer?: Partial<IssuingFacts>;
}

const ROLE: VerbatimRole = {
  ttl: 0,
  max_ttl: 0,
  not_after_bound: 'permit',
  not_before_duration: 30,
  not_before_bound: 'permit',
  no_store_metadata: false,
  basic_constraints_valid_for_non_ca: false,
};

function plan({ subject = { common_name: 'any thing' }, extensions = [], ...wanted }: Wanted) {
  const key = wanted.key ?? 'ec';
  const signed = readCsr(makeCsr({ subject, extensions, key }));
  const request = verbatimSchema.parse(wanted.body ?? {});
  const planned = planVerbatim(wanted.role, request, signed, makeContext(wanted.issuer));
  const tbs = planCertificate(planned.certificate, {
    subjectPublicKeyInfo: signed.csr.subjectPublicKeyInfo,
    key: signed.key,
    serialNumber: Uint8Array.of(1),
  });
  return { ...planned, tbs, csr: signed.csr };
}

test('for a key that only signs the default usages are those that it can have, without a warning', () => {
  const { tbs, warnings } = plan({ key: 'mldsa-44' });
  const usage = extensionValue(tbs, 'keyUsage');
  assert.deepEqual(usage && parseKeyUsage(usage), ['DigitalSignature']);
  assert.deepEqual(warnings, []);
  assert.deepEqual(lintTbsCertificate(tbs), []);
});

test('usages that a key cannot have are left out of the parameters, and a request with them is not signed', () => {
  const asked = plan({ key: 'mldsa-44', body: { key_usage: 'ContentCommitment,KeyAgreement' } });
  const usage = extensionValue(asked.tbs, 'keyUsage');
  assert.deepEqual(usage && parseKeyUsage(usage), ['ContentCommitment']);
  assert.match(asked.warnings.join(), /key_usage KeyAgreement was left out/);
  const alone = { key: 'mldsa-44', body: { key_usage: 'DataEncipherment' } } as const;
  assert.throws(() => plan(alone), /key_usage DataEncipherment is impossible/);
  const stated = keyUsage(['DigitalSignature', 'KeyEncipherment']) ?? assert.fail();
  const { tbs } = plan({ key: 'mldsa-44', extensions: [stated] });
  assert.deepEqual(lintTbsCertificate(tbs), [
    'keyUsage must not name KeyEncipherment for a key that only signs',
  ]);
});

function extensionValue(
  tbs: TbsCertificate,
  type: keyof typeof EXTENSION_OID,
): Uint8Array | undefined {
  return findExtension(tbs.extensions, EXTENSION_OID[type])?.value;
}

const dns = (name: string): Extension =>
  subjectAltName({ dns: [name], email: [], ip: [], uri: [], other: [] }, false);

test('without anything in the request the default usages apply, and no basic constraints', () => {
  const { tbs, warnings } = plan({});
  const usage = extensionValue(tbs, 'keyUsage');
  assert.deepEqual(usage && parseKeyUsage(usage), [
    'DigitalSignature',
    'KeyEncipherment',
    'KeyAgreement',
  ]);
  assert.equal(extensionValue(tbs, 'extKeyUsage'), undefined);
  assert.equal(extensionValue(tbs, 'basicConstraints'), undefined);
  assert.equal(extensionValue(tbs, 'subjectAltName'), undefined, 'the common name is not copied');
  assert.equal(tbs.notAfter, NOW + 32 * DAY);
  assert.deepEqual(warnings, []);
  assert.deepEqual(lintTbsCertificate(tbs), []);
});

test('subject and extensions are those of the request, byte for byte', () => {
  const custom: Extension = { oid: '1.2.3.4', critical: true, value: Uint8Array.of(5, 0) };
  const purposes = extKeyUsage([EXT_KEY_USAGE_OID.TimeStamping]);
  const usage = keyUsage(['ContentCommitment']);
  assert.ok(purposes && usage);
  const { tbs, csr } = plan({
    subject: { ou: ['b', 'a'], common_name: 'x' },
    extensions: [custom, purposes, usage, dns('a_b.test')],
    body: { key_usage: 'KeyAgreement', ext_key_usage: 'ServerAuth' },
  });
  assert.deepEqual(tbs.subject, csr.subject);
  assert.deepEqual(findExtension(tbs.extensions, '1.2.3.4'), custom);
  assert.deepEqual(extensionValue(tbs, 'keyUsage'), usage.value);
  assert.deepEqual(extensionValue(tbs, 'extKeyUsage'), purposes.value);
  assert.deepEqual(extensionValue(tbs, 'subjectAltName'), dns('a_b.test').value);
  assert.equal(new Set(tbs.extensions.map(({ oid }) => oid)).size, tbs.extensions.length);
});

test('usages of the parameters count where the request has none, an empty list for none', () => {
  const named = plan({ body: { key_usage: 'KeyAgreement', ext_key_usage_oids: '1.2.3' } }).tbs;
  const purposes = extensionValue(named, 'extKeyUsage');
  assert.deepEqual(purposes && parseExtKeyUsage(purposes), ['1.2.3']);
  assert.equal(extensionValue(plan({ body: { key_usage: [] } }).tbs, 'keyUsage'), undefined);
});

test('a request for a CA is refused, CA:FALSE left out with a warning', () => {
  assert.throws(
    () => plan({ extensions: [basicConstraints({ ca: true })] }),
    /CA certificate, which is not signed verbatim/,
  );
  const { tbs, warnings } = plan({ extensions: [basicConstraints({ ca: false })] });
  assert.equal(extensionValue(tbs, 'basicConstraints'), undefined);
  assert.match(warnings.join(), /Basic Constraints/);
});

test('CA:FALSE is stated where parameter or role ask for it, the parameter first', () => {
  const stated = basicConstraints({ ca: false }).value;
  const byBody = plan({ body: { basic_constraints_valid_for_non_ca: true } });
  assert.deepEqual(extensionValue(byBody.tbs, 'basicConstraints'), stated);
  const byRole = plan({ role: { ...ROLE, basic_constraints_valid_for_non_ca: true } });
  assert.deepEqual(extensionValue(byRole.tbs, 'basicConstraints'), stated);
  const againstRole = plan({
    body: { basic_constraints_valid_for_non_ca: false },
    role: { ...ROLE, basic_constraints_valid_for_non_ca: true },
  });
  assert.equal(extensionValue(againstRole.tbs, 'basicConstraints'), undefined);
});

test('the request does not say who signed it', () => {
  const { tbs } = plan({ extensions: [authorityKeyIdentifier(Uint8Array.of(9, 9))] });
  assert.deepEqual(
    extensionValue(tbs, 'authorityKeyIdentifier'),
    authorityKeyIdentifier(Uint8Array.of(1, 2, 3, 4)).value,
  );
});

test('a request that would sign certificates is found by the lint', () => {
  const usage = keyUsage(['CertSign']);
  assert.ok(usage);
  assert.match(lintTbsCertificate(plan({ extensions: [usage] }).tbs).join(), /CertSign/);
});

test('without a subject the alternative names are made critical', () => {
  const { tbs } = plan({ subject: {}, extensions: [dns('a.test')] });
  assert.equal(findExtension(tbs.extensions, EXTENSION_OID.subjectAltName)?.critical, true);
  assert.deepEqual(lintTbsCertificate(tbs), []);
});

test('user ids are added to the subject, once', () => {
  const { tbs, names } = plan({
    subject: { common_name: 'x', user_ids: ['u1'] },
    body: { user_ids: 'u1,u2' },
  });
  assert.deepEqual(parseName(tbs.subject).fields.user_ids, ['u1', 'u2']);
  assert.deepEqual(names.user_ids, ['u1', 'u2']);
});

test('a role contributes its times', () => {
  const role = { ...ROLE, ttl: DAY, not_before_duration: 60 };
  const { tbs } = plan({ role });
  assert.deepEqual([tbs.notBefore, tbs.notAfter], [NOW - 60, NOW + DAY]);
});

test('the end is the issuer end unless its behaviour is to be enforced', () => {
  const issuer = { not_after: NOW + DAY };
  assert.equal(plan({ issuer }).tbs.notAfter, NOW + DAY);
  const enforced = { body: { enforce_leaf_not_after_behavior: true }, issuer };
  assert.throws(() => plan(enforced), /beyond the expiration/);
  const always = { issuer: { ...issuer, behavior: 'always_enforce_err' as const } };
  assert.throws(() => plan(always), /beyond the expiration/);
});

test('metadata needs a role', () => {
  assert.throws(() => plan({ body: { cert_metadata: 'AQI=' } }), /needs a role/);
  assert.ok(plan({ body: { cert_metadata: 'AQI=' }, role: ROLE }).metadata);
});

test('a signature size that does not exist is refused', () => {
  assert.throws(() => plan({ body: { signature_bits: 128 } }), /unsupported hash signature/);
});

test('every common name of a request is told as a field that it could be sent by', () => {
  const plain = plan({ subject: { common_name: 'a.test', user_ids: ['u'] } });
  assert.deepEqual(plain.brought, [{ common_name: 'a.test', user_ids: ['u'] }]);
  const one = encodeSubject({ common_name: 'a.test' });
  const two = encodeSubject({ common_name: 'b.test' });
  const both = sequence(readDer(one).content, readDer(two).content);
  const { csr } = readCsr(makeCsr({}));
  const twice = { ...csr, subject: both, subjectName: parseName(both) };
  assert.deepEqual(
    fieldsOfWholeCsr(twice, csrNames(twice), commonNamesOf(twice)).map(
      ({ common_name }) => common_name,
    ),
    ['a.test', 'b.test'],
  );
});
