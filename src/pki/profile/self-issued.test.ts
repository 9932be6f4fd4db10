import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { makeIssuing } from '../../../test/support/leaves.ts';
import { makeAuthority } from '../../../test/support/made-authorities.ts';
import { NO_CONSTRAINTS } from '../../../test/support/no-constraints.ts';
import type { KeyUsage } from '../../x509/key-usages.ts';
import { planSelfIssued, selfIssuedFields } from './self-issued.ts';

const issuer = makeIssuing({
  name_constraints: [{ ...NO_CONSTRAINTS, permitted_dns_domains: ['a.test'] }],
});

const ROWS: [common_name: string, usage: KeyUsage[], signed: boolean][] = [
  ['b.test', ['CertSign', 'CRLSign'], true],
  ['b.test', ['CertSign', 'DigitalSignature'], false],
  ['w.a.test', ['CertSign', 'DigitalSignature'], true],
  ['b.test', [], true],
];
for (const [common_name, usage, signed] of ROWS) {
  test(`a self-issued CA CN=${common_name} for ${usage.join(',') || 'anything'} is ${signed ? 'signed' : 'refused'} under constraints on hosts`, () => {
    const certificate = makeAuthority(common_name, { usage }).pem;
    const request = z.object(selfIssuedFields).parse({ certificate });
    if (signed) assert.ok(planSelfIssued(request, issuer));
    else assert.throws(() => planSelfIssued(request, issuer), /constraints refuse it: DNS name/);
  });
}
