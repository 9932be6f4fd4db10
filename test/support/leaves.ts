import { generateKeyPairSync } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import type { IssuingFacts } from '../../src/pki/profile/issuing.ts';
import type { LeafContext } from '../../src/pki/profile/leaf.ts';
import { planRole } from '../../src/pki/roles/plan.ts';
import { type Role, roleSchema } from '../../src/pki/roles/role.ts';
import { chooseSignatureAlgorithm, signSync } from '../../src/x509/algorithms.ts';
import { assembleSigned } from '../../src/x509/certificate.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import type { Extension } from '../../src/x509/extensions.ts';
import { describePublicKey, publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject, type SubjectFields } from '../../src/x509/names.ts';

/** 2026-11-21T12:00:00Z, the hour of all these tests. */
export const NOW = 1_795_262_400;
export const DAY = 86_400;

/** A role as a client would have written it; every name is allowed unless told otherwise. */
export function makeRole(fields: Record<string, unknown> = {}): Role {
  return planRole(roleSchema.parse({ allow_any_name: true, key_type: 'ec', ...fields })).role;
}

/** An issuer with a P-256 key that ends in ten years. */
export function makeIssuing(facts: Partial<IssuingFacts> = {}): IssuingFacts {
  return {
    subject: encodeSubject({ common_name: 'Test Root' }),
    key_identifier: Uint8Array.of(1, 2, 3, 4),
    key: { key_type: 'ec', key_bits: 256 },
    not_after: NOW + 3650 * DAY,
    behavior: 'err',
    urls: {
      issuing_certificates: [],
      crl_distribution_points: [],
      ocsp_servers: [],
      delta_crl_distribution_points: [],
    },
    name_constraints: [],
    ...facts,
  };
}

export function makeContext(issuer: Partial<IssuingFacts> = {}): LeafContext {
  return {
    issuer: makeIssuing(issuer),
    mount: { default_ttl: 32 * DAY, max_ttl: 32 * DAY },
    now: NOW,
  };
}

const KEYS = {
  ec: () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  'ec-224': () => generateKeyPairSync('ec', { namedCurve: 'secp224r1' }),
  'ec-384': () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
  ed25519: () => generateKeyPairSync('ed25519'),
  'mldsa-44': () => generateKeyPairSync('ml-dsa-44'),
  'rsa-1024': () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  'rsa-2048': () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
};
export type TestKey = keyof typeof KEYS;

/** A request in PEM, signed by a new key of that kind. */
export function makeCsr(
  wanted: { subject?: SubjectFields; extensions?: readonly Extension[]; key?: TestKey } = {},
): string {
  const { privateKey } = KEYS[wanted.key ?? 'ec']();
  const algorithm = chooseSignatureAlgorithm(describePublicKey(publicKeyInfo(privateKey)));
  const info = encodeCsrInfo({
    subject: encodeSubject(wanted.subject ?? {}),
    subjectPublicKeyInfo: publicKeyInfo(privateKey),
    extensions: wanted.extensions ?? [],
  });
  const der = assembleSigned(info, algorithm, signSync(privateKey, algorithm, info));
  return encodePem('CERTIFICATE REQUEST', der);
}
