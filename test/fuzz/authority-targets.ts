/** Requests and certificates of other authorities, as far as a certificate is laid out by them. */

import { z } from 'zod';
import { encodePem } from '../../src/core/pem.ts';
import { evaluateProgram } from '../../src/pki/cel/evaluate.ts';
import { readDescribed } from '../../src/pki/profile/cel-template.ts';
import { readCsrValues } from '../../src/pki/profile/csr-fields.ts';
import { readCsr } from '../../src/pki/profile/csr-rules.ts';
import { intermediateFields, planIntermediate } from '../../src/pki/profile/intermediate.ts';
import { planCertificate } from '../../src/pki/profile/plan.ts';
import { planSelfIssued } from '../../src/pki/profile/self-issued.ts';
import { encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { lintTbsCertificate } from '../../src/x509/lint.ts';
import { encodeSubject, parseName } from '../../src/x509/names.ts';
import { DAY, makeIssuing, NOW } from '../support/leaves.ts';
import * as corpus from './corpus.ts';
import type { FuzzTarget } from './run.ts';

const issuer = makeIssuing({
  name_constraints: [
    {
      permitted_dns_domains: ['test'],
      excluded_dns_domains: ['no.test'],
      permitted_ip_ranges: [],
      excluded_ip_ranges: ['10.0.0.0/8'],
      permitted_email_addresses: [],
      excluded_email_addresses: [],
      permitted_uri_domains: [],
      excluded_uri_domains: [],
      excluded_directory_names: [parseName(encodeSubject({ organization: ['no'] })).attributes],
    },
  ],
});
const serialNumber = Uint8Array.of(1);
const intermediate = z.object(intermediateFields).parse({ use_csr_values: true });

function signRequest(bytes: Uint8Array): void {
  const { csr, key } = readCsr(encodePem('CERTIFICATE REQUEST', bytes));
  const mount = { default_ttl: DAY, max_ttl: DAY };
  const plan = planIntermediate(intermediate, { csr, key }, { issuer, mount, now: NOW });
  readCsrValues(csr, plan.names);
  const { subjectPublicKeyInfo } = csr;
  const tbs = planCertificate(plan.certificate, { subjectPublicKeyInfo, key, serialNumber });
  if (lintTbsCertificate(tbs).length === 0) encodeTbsCertificate(tbs);
}

function signItself(bytes: Uint8Array): void {
  const certificate = encodePem('CERTIFICATE', bytes);
  const request = { certificate, require_matching_certificate_algorithms: false };
  const plan = planSelfIssued(request, issuer);
  const tbs = planCertificate(plan.certificate, plan);
  if (lintTbsCertificate(tbs).length === 0) encodeTbsCertificate(tbs);
}

const EXPRESSIONS = [
  'has(request.a) && request.a.matches("^[a-z]+$") ? ValidationOutput{template: CertTemplate{DNSNames: [request.a], NotAfter: now + duration("1h")}} : "no"',
  '[1, 2u, 3.5].map(x, x > 1 ? string(x) : "é").filter(y, y != b"\\x00").exists(z, z in {"a": [null, true]})',
  'ValidationOutput{key_type: "ec", key_bits: uint(request.n), template: CertTemplate{IPAddresses: [net.IP{IP: b"abcd"}], URIs: [url.URL{Scheme: "a", Host: "b"}]}}',
  'decode_json(encode_json({"a": request.l})).a[0].split(",").join("-").replace("-", "--") + r"x"',
].map((text) => new TextEncoder().encode(text));
const ANSWERED = { a: 'abc', n: 256, l: ['x,y', 'z'], deep: { a: [{}] } };

function evaluate(bytes: Uint8Array): void {
  const expression = Buffer.from(bytes).toString('utf8');
  const program = { variables: [{ name: 'v', expression }], expression: 'v' };
  const given = { request: ANSWERED, now: NOW * 1000, use_csr: false };
  const verdict = evaluateProgram({ ...given, program, identity: undefined, groups: [] });
  if (verdict.allowed) readDescribed(verdict.output, { now: NOW, isForCsr: false });
}

export const authorityTargets: readonly FuzzTarget[] = [
  { name: 'intermediate', corpus: corpus.requests, read: signRequest },
  { name: 'cel', corpus: EXPRESSIONS, read: evaluate },
  { name: 'self-issued', corpus: corpus.selfIssued, read: signItself },
];
