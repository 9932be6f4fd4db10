import assert from 'node:assert/strict';
import { sign as cryptoSign, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  DAY,
  makeContext,
  makeCsr,
  makeIssuing,
  makeRole,
  NOW,
} from '../../../test/support/leaves.ts';
import { encodePem } from '../../core/pem.ts';
import {
  assembleSigned,
  type Certificate,
  encodeTbsCertificate,
  parseCertificate,
} from '../../x509/certificate.ts';
import { parseCertificatePolicies } from '../../x509/certificate-policies.ts';
import { encodeCsrInfo } from '../../x509/csr.ts';
import { bitString, oid, sequence } from '../../x509/der.ts';
import { basicConstraints, findExtension } from '../../x509/extensions.ts';
import { parseExtKeyUsage } from '../../x509/key-usages.ts';
import { publicKeyInfo } from '../../x509/keys.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import type { NameConstraints } from '../../x509/name-constraints.ts';
import { encodeSubject } from '../../x509/names.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID } from '../../x509/oids.ts';
import { readCsr, requireCsr } from './csr-rules.ts';
import type { IssuingFacts } from './issuing.ts';
import { type LeafPlan, planIssue, planSign } from './leaf.ts';
import { planCertificate } from './plan.ts';
import { issueSchema, signSchema } from './request.ts';

const spki = publicKeyInfo(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey);

function plan(
  role: Record<string, unknown> = {},
  body: Record<string, unknown> = {},
  issuer: Partial<IssuingFacts> = {},
) {
  const request = issueSchema.parse({ common_name: 'a.test', ...body });
  return planIssue(makeRole(role), request, makeContext(issuer));
}

/** The certificate a plan makes, linted, written and read back; its signature is no signature. */
function makeCertificate({ certificate }: LeafPlan): Certificate {
  const tbs = planCertificate(certificate, {
    subjectPublicKeyInfo: spki,
    key: { key_type: 'ec', key_bits: 256 },
    serialNumber: Uint8Array.of(1),
  });
  assert.deepEqual(lintTbsCertificate(tbs), []);
  const encoded = encodeTbsCertificate(tbs);
  return parseCertificate(assembleSigned(encoded, tbs.signatureAlgorithm, new Uint8Array(8)));
}

function extensionOf(certificate: Certificate, type: keyof typeof EXTENSION_OID) {
  return findExtension(certificate.extensions, EXTENSION_OID[type]);
}

test('a plain leaf has the fields and extensions that it should, in their order', () => {
  const certificate = makeCertificate(
    plan(
      { policy_identifiers: '1.2.3', basic_constraints_valid_for_non_ca: true },
      {},
      {
        urls: {
          issuing_certificates: ['http://a.test/ca'],
          crl_distribution_points: ['http://a.test/crl'],
          ocsp_servers: ['http://a.test/ocsp'],
          delta_crl_distribution_points: ['http://a.test/delta'],
        },
      },
    ),
  );
  assert.deepEqual(
    certificate.extensions.map(({ oid }) => oid),
    [
      EXTENSION_OID.keyUsage,
      EXTENSION_OID.extKeyUsage,
      EXTENSION_OID.basicConstraints,
      EXTENSION_OID.subjectKeyIdentifier,
      EXTENSION_OID.authorityKeyIdentifier,
      EXTENSION_OID.authorityInfoAccess,
      EXTENSION_OID.subjectAltName,
      EXTENSION_OID.certificatePolicies,
      EXTENSION_OID.cRLDistributionPoints,
      EXTENSION_OID.freshestCRL,
    ],
  );
  assert.deepEqual(certificate.issuer, makeIssuing().subject);
  assert.deepEqual(certificate.authorityKeyId, Uint8Array.of(1, 2, 3, 4));
  assert.equal(certificate.signatureAlgorithm, 'ECDSAWithSHA256');
  assert.equal(certificate.notBefore, NOW - 30);
  assert.equal(certificate.notAfter, NOW + 32 * DAY);
  assert.deepEqual(certificate.keyUsage, ['DigitalSignature', 'KeyEncipherment', 'KeyAgreement']);
});

test('a role without key usages makes certificates without keyUsage', () => {
  assert.equal(makeCertificate(plan({ key_usage: [] })).keyUsage, undefined);
  assert.deepEqual(makeCertificate(plan({ key_usage: 'keyagreement' })).keyUsage, ['KeyAgreement']);
});

test('CA:FALSE is stated, critically, where the role wants it, and otherwise not at all', () => {
  const stated = makeCertificate(plan({ basic_constraints_valid_for_non_ca: true }));
  assert.equal(extensionOf(stated, 'basicConstraints')?.critical, true);
  assert.equal(stated.isCa, false);
  assert.equal(extensionOf(makeCertificate(plan()), 'basicConstraints'), undefined);
});

const usages: [role: Record<string, unknown>, oids: string[] | undefined, why: string][] = [
  [{}, [EXT_KEY_USAGE_OID.ServerAuth, EXT_KEY_USAGE_OID.ClientAuth], 'server and client'],
  [{ server_flag: false, client_flag: false }, undefined, 'none: no extension'],
  [
    {
      server_flag: false,
      client_flag: false,
      email_protection_flag: true,
      code_signing_flag: true,
    },
    [EXT_KEY_USAGE_OID.CodeSigning, EXT_KEY_USAGE_OID.EmailProtection],
    'the other flags',
  ],
  [
    { client_flag: false, ext_key_usage: 'timestamping, ServerAuth', ext_key_usage_oids: '1.2.3' },
    [EXT_KEY_USAGE_OID.ServerAuth, EXT_KEY_USAGE_OID.TimeStamping, '1.2.3'],
    'names in any case, none twice, then object identifiers',
  ],
];
for (const [role, oids, why] of usages) {
  test(`extended key usages: ${why}`, () => {
    const extension = extensionOf(makeCertificate(plan(role)), 'extKeyUsage');
    assert.deepEqual(extension && parseExtKeyUsage(extension.value), oids);
  });
}

test('equal OUs are one, different ones share a multi-valued part of the name', () => {
  const { subjectName } = makeCertificate(plan({ ou: ['Z', 'E', 'V', 'Z'] }));
  const units = subjectName.attributes.filter((part) => part.some(({ oid }) => oid === '2.5.4.11'));
  assert.equal(units.length, 1);
  assert.deepEqual(units[0]?.map(({ value }) => value).sort(), ['E', 'V', 'Z']);
});

test('the subject has what the role adds, then the names of the request', () => {
  const role = {
    country: 'DE',
    organization: 'Org',
    locality: 'L',
    province: 'P',
    street_address: 'S 1',
    postal_code: '1',
    allowed_serial_numbers: '*',
    allowed_user_ids: '*',
  };
  const { fields, attributes } = makeCertificate(
    plan(role, { serial_number: 'N1', user_ids: 'u1' }),
  ).subjectName;
  assert.equal(fields.common_name, 'a.test');
  assert.equal(fields.serial_number, 'N1');
  assert.deepEqual(fields.user_ids, ['u1']);
  assert.deepEqual(fields.country, ['DE']);
  assert.equal(attributes.length, 9);
});

test('without a subject the alternative names are critical, with one they are not', () => {
  const role = { require_cn: false };
  const anonymous = makeCertificate(plan(role, { common_name: '', alt_names: 'b.test' }));
  assert.equal(extensionOf(anonymous, 'subjectAltName')?.critical, true);
  assert.equal(extensionOf(makeCertificate(plan()), 'subjectAltName')?.critical, false);
});

test('policy qualifiers reach the certificate', () => {
  const policy = { oid: '1.2.3', cps: 'https://ca.test/cps', notice: 'be careful' };
  const certificate = makeCertificate(plan({ policy_identifiers: [policy] }));
  const extension = extensionOf(certificate, 'certificatePolicies');
  assert.deepEqual(extension && parseCertificatePolicies(extension.value), [policy]);
});

const algorithms: [IssuingFacts['key'], role: Record<string, unknown>, algorithm: string][] = [
  [{ key_type: 'rsa', key_bits: 2048 }, { key_type: 'rsa' }, 'SHA256WithRSA'],
  [{ key_type: 'rsa', key_bits: 2048 }, { key_type: 'rsa', signature_bits: 512 }, 'SHA512WithRSA'],
  [{ key_type: 'rsa', key_bits: 2048 }, { key_type: 'rsa', use_pss: true }, 'SHA256WithRSAPSS'],
  [{ key_type: 'rsa', key_bits: 2048 }, { key_type: 'ec' }, 'SHA256WithRSA'],
  [{ key_type: 'ec', key_bits: 384 }, { key_type: 'rsa', use_pss: true }, 'ECDSAWithSHA384'],
  [{ key_type: 'ed25519', key_bits: 0 }, { key_type: 'rsa' }, 'PureEd25519'],
];
for (const [key, role, algorithm] of algorithms) {
  test(`an issuer's ${key.key_type} key signs ${JSON.stringify(role)} with ${algorithm}`, () => {
    assert.equal(makeCertificate(plan(role, {}, { key })).signatureAlgorithm, algorithm);
  });
}

test('names are judged by the role before anything is made', () => {
  const role = { allow_any_name: false, allowed_domains: 'a.test', allow_bare_domains: true };
  assert.equal(plan(role).names.common_name, 'a.test');
  assert.throws(() => plan(role, { common_name: 'b.test' }), /common name b.test not allowed/);
  assert.throws(
    () => plan(role, { alt_names: 'b.test' }),
    /subject alternate name b.test not allowed/,
  );
  assert.throws(() => plan(role, { uri_sans: 'urn:a:b' }), /URI Subject Alternative Names/);
});

test('a format that does not exist is refused with its phrase', async () => {
  const { error } = issueSchema.safeParse({ format: 'zip' });
  assert.match(error?.issues[0]?.message ?? '', /the "format" path parameter must be/);
  assert.equal(issueSchema.parse({ format: 'pem_bundle' }).format, 'pem_bundle');
});

test('a role for any key makes none unless the request says which', () => {
  assert.throws(
    () => plan({ key_type: 'any' }),
    /role key type "any" not allowed for issuing certificates/,
  );
  const { key } = plan({ key_type: 'any' }, { key_type: 'ec', key_bits: 384 });
  assert.deepEqual(key, { key_type: 'ec', key_bits: 384 });
  assert.throws(() => plan({ key_type: 'any' }, { key_type: 'rsa', key_bits: 1024 }), /unsafe/);
});

test('a role with a key of its own ignores the one asked for, and says so', () => {
  const planned = plan({ key_type: 'ed25519', key_bits: 7 }, { key_type: 'rsa' });
  assert.deepEqual(planned.key, { key_type: 'ed25519', key_bits: 0 });
  assert.match(planned.warnings.join(), /key_type and key_bits ignored/);
  assert.deepEqual(plan().warnings, []);
});

function sign(role: Record<string, unknown>, csr: string) {
  const request = signSchema.parse({ common_name: 'a.test', csr });
  return planSign(makeRole(role), request, readCsr(csr), makeContext());
}

const csrKeys: [key: Parameters<typeof makeCsr>[0], Record<string, unknown>, RegExp | 'ok'][] = [
  [{ key: 'ec' }, { key_type: 'ec' }, 'ok'],
  [{ key: 'ec-384' }, { key_type: 'ec' }, 'ok'],
  [{ key: 'ec' }, { key_type: 'ec', key_bits: 384 }, /minimum of a 384-bit key.*is 256 bits/],
  [{ key: 'ec-224' }, { key_type: 'any', key_bits: 384 }, 'ok'],
  [{ key: 'rsa-2048' }, { key_type: 'rsa' }, 'ok'],
  [{ key: 'rsa-2048' }, { key_type: 'rsa', key_bits: 3072 }, /minimum of a 3072-bit key/],
  [{ key: 'rsa-2048' }, { key_type: 'ec' }, /role requires keys of type ec/],
  [{ key: 'rsa-1024' }, { key_type: 'any' }, /RSA keys < 2048 bits are unsafe/],
  [{ key: 'rsa-1024' }, { key_type: 'rsa' }, /RSA keys < 2048 bits are unsafe/],
  [{ key: 'ed25519' }, { key_type: 'ed25519', key_bits: 999 }, 'ok'],
  [{ key: 'ed25519' }, { key_type: 'any' }, 'ok'],
  [{ key: 'ed25519' }, { key_type: 'ec' }, /role requires keys of type ec/],
];
for (const [csr, role, verdict] of csrKeys) {
  test(`a ${csr?.key} request under ${JSON.stringify(role)}: ${verdict}`, () => {
    const ask = () => sign(role, makeCsr(csr));
    if (verdict === 'ok') ask();
    else assert.throws(ask, verdict);
  });
}

test('CA:TRUE in a request is left out with a warning', () => {
  const csr = makeCsr({ extensions: [basicConstraints({ ca: true })] });
  const planned = sign({}, csr);
  assert.match(planned.warnings.join(), /Basic Constraints extension that was ignored/);
  assert.equal(makeCertificate(planned).isCa, false);
  assert.ok(!sign({}, makeCsr()).warnings.join().includes('Basic Constraints'));
});

test('a missing, broken or wrongly signed request is refused with its phrase', async () => {
  await assert.rejects(requireCsr(''), /"csr" is empty/);
  await assert.rejects(requireCsr('junk'), /csr contains no data/);
  const csr = makeCsr({ subject: { common_name: 'aaaa.test' } });
  const der = Buffer.from(csr.replace(/-----.*-----|\s/g, ''), 'base64');
  der.write('bbbb.test', der.indexOf('aaaa.test'), 'latin1');
  const changed = `-----BEGIN CERTIFICATE REQUEST-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE REQUEST-----`;
  await assert.rejects(requireCsr(changed), { message: 'request signature invalid' });
});

test('a request signed with SHA-1 is refused, RSA or EC, and with SHA-256 it is not', async () => {
  for (const [pair, identifiers] of [
    [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      ['1.2.840.10045.4.1', '1.2.840.10045.4.3.2'],
    ],
    [
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
      ['1.2.840.113549.1.1.5', '1.2.840.113549.1.1.11'],
    ],
  ] as const) {
    const info = encodeCsrInfo({
      subject: encodeSubject({ common_name: 'a.test' }),
      subjectPublicKeyInfo: publicKeyInfo(pair.privateKey),
      extensions: [],
    });
    const signed = (hash: string, identifier: string): string => {
      const parameters = identifier.startsWith('1.2.840.113549') ? [Uint8Array.of(5, 0)] : [];
      const signature = bitString(cryptoSign(hash, info, pair.privateKey));
      const der = sequence(info, sequence(oid(identifier), ...parameters), signature);
      return encodePem('CERTIFICATE REQUEST', der);
    };
    await assert.rejects(
      requireCsr(signed('sha1', identifiers[0])),
      /^Failure: request signature invalid: its algorithm is not supported; RSA and ECDSA with SHA-256,/,
    );
    await requireCsr(signed('sha256', identifiers[1]));
  }
});

const constraints: NameConstraints = {
  permitted_dns_domains: ['a.test'],
  excluded_dns_domains: ['bad.a.test'],
  permitted_ip_ranges: ['10.0.0.0/8'],
  excluded_ip_ranges: [],
  permitted_email_addresses: [],
  excluded_email_addresses: [],
  permitted_uri_domains: [],
  excluded_uri_domains: [],
};

test('what the constraints above forbid is not issued', () => {
  const issuer = { name_constraints: [constraints] };
  assert.equal(plan({}, { ip_sans: '10.1.2.3' }, issuer).names.common_name, 'a.test');
  assert.throws(() => plan({}, { common_name: 'b.test' }, issuer), /name constraints refuse it/);
  const subjectOnly = { common_name: 'b.test', exclude_cn_from_sans: true };
  assert.throws(() => plan({}, subjectOnly, issuer), /name constraints refuse it/);
  assert.throws(() => plan({}, { alt_names: 'x.bad.a.test' }, issuer), /name constraints/);
  const wide = { allowed_domains: 'b.test', allow_subdomains: true };
  const starOnly = { common_name: '*.b.test', exclude_cn_from_sans: true };
  assert.throws(() => plan(wide, starOnly, issuer), /name constraints refuse it/);
  assert.throws(() => plan(wide, { common_name: 'w*.b.test' }, issuer), /name constraints refuse/);
  const local = { common_name: 'localhost', exclude_cn_from_sans: true };
  assert.throws(() => plan({}, local, issuer), /name constraints refuse it/);
  const ofPeople = { server_flag: false, cn_validations: 'disabled', allow_any_name: true };
  assert.ok(plan(ofPeople, { ...local, common_name: 'ann' }, issuer));
  assert.throws(() => plan({}, { ip_sans: '11.1.2.3' }, issuer), /name constraints/);
});

test('metadata is base64, and refused where the role keeps none', () => {
  assert.deepEqual(plan({}, { cert_metadata: 'AQI=' }).metadata, Buffer.from([1, 2]));
  assert.equal(plan().metadata, undefined);
  assert.throws(() => plan({}, { cert_metadata: 'AQI' }), /not base64/);
  assert.throws(
    () => plan({ no_store_metadata: true }, { cert_metadata: 'AQI=' }),
    /no_store_metadata/,
  );
});

test('the warnings of names and validity come together', () => {
  const { warnings } = plan({ max_ttl: '1h' }, { ttl: '2h', alt_names: 'a_b' });
  assert.match(warnings.join('; '), /is no host name.*; TTL "2h0m0s" is longer/);
});
