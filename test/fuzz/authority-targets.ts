/** Requests and certificates of other authorities, as far as a certificate is laid out by them. */

import { z } from 'zod';
import { encodePem } from '../../src/core/pem.ts';
import { readCsrValues } from '../../src/pki/profile/csr-fields.ts';
import { readCsr } from '../../src/pki/profile/csr-rules.ts';
import { intermediateFields, planIntermediate } from '../../src/pki/profile/intermediate.ts';
import { planCertificate } from '../../src/pki/profile/plan.ts';
import { planSelfIssued } from '../../src/pki/profile/self-issued.ts';
import { encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { lintTbsCertificate } from '../../src/x509/lint.ts';
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

export const authorityTargets: readonly FuzzTarget[] = [
  { name: 'intermediate', corpus: corpus.requests, read: signRequest },
  { name: 'self-issued', corpus: corpus.selfIssued, read: signItself },
];
