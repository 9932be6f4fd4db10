import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { directoryConstraints, directoryName } from '../../../test/support/directory-names.ts';
import { makeContext, makeCsr, NOW } from '../../../test/support/leaves.ts';
import { makeOut } from '../../../test/support/policy-service.ts';
import { Failure } from '../../core/failure.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { parseCsr } from '../../x509/csr.ts';
import { subjectAltName } from '../../x509/extensions.ts';
import { nameConstraints, parseNameConstraints } from '../../x509/name-constraints.ts';
import type { IssuingFacts } from '../profile/issuing.ts';
import { planCertificate } from '../profile/plan.ts';
import { planAnswered, readAnswered } from './certificate.ts';

const csr = makeCsr();
const { subjectPublicKeyInfo } = parseCsr(csr);
const end = { notBefore: NOW - 60, notAfter: NOW + 3600 };

function plan(
  wanted: Parameters<typeof makeOut>[1],
  issuer: Partial<IssuingFacts> = {},
  mode: 'sign' | 'ica' = 'sign',
) {
  const certificate = readAnswered(makeOut(csr, { ...end, ...wanted }));
  return planAnswered(certificate, { mode, subjectPublicKeyInfo }, makeContext(issuer));
}

const RSA: Partial<IssuingFacts> = { key: { key_type: 'rsa', key_bits: 2048 } };
const algorithms: [
  named: 'SHA384WithRSA' | 'SHA512WithRSAPSS' | 'ECDSAWithSHA384' | 'PureEd25519',
  issuer: Partial<IssuingFacts>,
  signed: string,
][] = [
  ['SHA384WithRSA', RSA, 'SHA384WithRSA'],
  ['SHA512WithRSAPSS', RSA, 'SHA512WithRSAPSS'],
  ['ECDSAWithSHA384', RSA, 'SHA256WithRSA'],
  ['PureEd25519', RSA, 'SHA256WithRSA'],
  ['SHA384WithRSA', {}, 'ECDSAWithSHA256'],
];
for (const [signatureAlgorithm, issuer, signed] of algorithms) {
  test(`${signatureAlgorithm} of a certificate is ${signed} by an issuer of ${issuer.key?.key_type ?? 'ec'}`, () => {
    const certificate = {
      ...parseCertificate(readAnswered(makeOut(csr, end)).raw),
      signatureAlgorithm,
    };
    const asked = { mode: 'sign', subjectPublicKeyInfo } as const;
    const { certificate: planned } = planAnswered(certificate, asked, makeContext(issuer));
    const tbs = planCertificate(planned, {
      subjectPublicKeyInfo,
      key: { key_type: 'ec', key_bits: 256 },
      serialNumber: Uint8Array.of(1),
    });
    assert.equal(tbs.signatureAlgorithm, signed);
  });
}

test('a CA keeps its path length, beneath an issuer that may have one', () => {
  const planned = plan({ ca: true }, { path_length: 1 }, 'ica');
  assert.ok(planned.certificate.extra_extensions.length > 0);
  assert.throws(() => plan({ ca: true }, { path_length: 0 }, 'ica'), Failure);
});

test('the subject of a certificate is held to constraints on directory names', () => {
  const { value } = directoryConstraints([directoryName([['O', 'Acme']])]);
  const issuer = { name_constraints: [parseNameConstraints(value)] };
  for (const mode of ['sign', 'ica'] as const) {
    const of = (O: string) => ({ subject: directoryName([['O', O]]), ca: mode === 'ica' });
    assert.ok(plan(of('ACME'), issuer, mode));
    assert.throws(() => plan(of('Acmee'), issuer, mode), {
      message: /the issuer's name constraints refuse it: subject "O=Acmee" is not permitted/,
    });
  }
});

test('the longest certificate, with as many names as fit, is decided on at once under long constraints', async () => {
  const domains = Array.from({ length: 400 }, (_, n) => `d${n}.example`);
  const constraint = nameConstraints({ permitted_dns_domains: domains });
  const name_constraints = constraint ? [parseNameConstraints(constraint.value)] : [];
  const dns = Array.from({ length: 1_500 }, (_, n) => `n${n}.d${n % 400}.example`);
  const names = { dns, email: [], ip: [], uri: [], other: [] };
  const pem = makeOut(csr, { ...end, extensions: [subjectAltName(names, false)] });
  await spendsAtMost(100, () => {
    const certificate = readAnswered(pem);
    const asked = { mode: 'sign', subjectPublicKeyInfo } as const;
    const planned = planAnswered(certificate, asked, makeContext({ name_constraints }));
    assert.equal(planned.names.dns.length, dns.length);
  });
});
