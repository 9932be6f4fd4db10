import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { issuedSchema, signedSchema } from '../certificates/answer.ts';
import { issueFields, signFields } from '../profile/request.ts';
import { issueCertificate, signCsr } from './operations.ts';

const role = text().describe('Name of the role.');
const issuer_ref = text().describe('Id or name of the issuer, or "default".');

// What a certificate states in the end is in the certificate; secrets are in none of these.
const audit = [
  'role',
  'issuer_ref',
  'common_name',
  'alt_names',
  'ip_sans',
  'uri_sans',
  'other_sans',
  'user_ids',
  'ttl',
  'not_after',
  'format',
  'private_key_format',
  'exclude_cn_from_sans',
  'remove_roots_from_chain',
  'serial_number',
  'key_type',
  'key_bits',
];
const failures = ['invalid', 'unresolved', 'conflict', 'rate_limited', 'unavailable'] as const;

export const issuanceRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-issue-with-role',
    method: 'POST',
    path: '/v1/{mount}/issue/{role}',
    summary: 'Make a key and a certificate for it',
    access: { capability: 'update' },
    input: z.object({ role, ...issueFields }),
    output: issuedSchema,
    failures,
    audit,
    run: issueCertificate,
  }),
  vaultRoute({
    id: 'pki-issuer-issue-with-role',
    method: 'POST',
    path: '/v1/{mount}/issuer/{issuer_ref}/issue/{role}',
    name_forms: { issuer_ref: 'default_word' },
    summary: 'Make a key and a certificate for it, by this issuer',
    access: { capability: 'update' },
    input: z.object({ role, issuer_ref, ...issueFields }),
    output: issuedSchema,
    failures,
    audit,
    run: issueCertificate,
  }),
  vaultRoute({
    id: 'pki-sign-with-role',
    method: 'POST',
    path: '/v1/{mount}/sign/{role}',
    summary: 'Sign a certificate request',
    see: ['RFC 2986'],
    access: { capability: 'update' },
    input: z.object({ role, ...signFields }),
    output: signedSchema,
    failures,
    audit,
    run: signCsr,
  }),
  vaultRoute({
    id: 'pki-issuer-sign-with-role',
    method: 'POST',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign/{role}',
    name_forms: { issuer_ref: 'default_word' },
    summary: 'Sign a certificate request, by this issuer',
    see: ['RFC 2986'],
    access: { capability: 'update' },
    input: z.object({ role, issuer_ref, ...signFields }),
    output: signedSchema,
    failures,
    audit,
    run: signCsr,
  }),
];
