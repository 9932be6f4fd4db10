import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { issuedSchema, signedLeafSchema } from '../certificates/answer.ts';
import { issueFields, signFields, verbatimFields } from '../profile/request.ts';
import { issueCertificate, signCsr } from './operations.ts';
import { signVerbatim } from './verbatim.operations.ts';

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
  'not_before',
  'format',
  'private_key_format',
  'exclude_cn_from_sans',
  'remove_roots_from_chain',
  'serial_number',
  'key_type',
  'key_bits',
  'sid',
  'extensions',
];
/** What endpoints that issue have in common. */
export const ISSUANCE = {
  method: 'POST',
  access: { capability: 'update' },
  on_any_thread: true,
  failures: ['invalid', 'unresolved', 'conflict', 'rate_limited', 'unavailable'],
  audit,
} as const;
const issue = { ...ISSUANCE, output: issuedSchema, run: issueCertificate };
const sign = { ...ISSUANCE, see: ['RFC 2986'], output: signedLeafSchema, run: signCsr };
const verbatim = {
  ...sign,
  audit: [
    ...audit,
    'key_usage',
    'ext_key_usage',
    'ext_key_usage_oids',
    'signature_bits',
    'use_pss',
    'basic_constraints_valid_for_non_ca',
    'enforce_leaf_not_after_behavior',
  ],
  run: signVerbatim,
};
const byIssuer = { name_forms: { issuer_ref: 'default_word' } } as const;

export const issuanceRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...issue,
    id: 'pki-issue-with-role',
    path: '/v1/{mount}/issue/{role}',
    summary: 'Make a key and a certificate for it',
    input: z.object({ role, ...issueFields }),
  }),
  vaultRoute({
    ...issue,
    ...byIssuer,
    id: 'pki-issuer-issue-with-role',
    path: '/v1/{mount}/issuer/{issuer_ref}/issue/{role}',
    summary: 'Make a key and a certificate for it, by this issuer',
    input: z.object({ role, issuer_ref, ...issueFields }),
  }),
  vaultRoute({
    ...sign,
    id: 'pki-sign-with-role',
    path: '/v1/{mount}/sign/{role}',
    summary: 'Sign a certificate request',
    input: z.object({ role, ...signFields }),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-sign-with-role',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign/{role}',
    summary: 'Sign a certificate request, by this issuer',
    input: z.object({ role, issuer_ref, ...signFields }),
  }),
  vaultRoute({
    ...verbatim,
    id: 'pki-sign-verbatim',
    path: '/v1/{mount}/sign-verbatim',
    summary: 'Sign a certificate request as it is',
    input: z.object(verbatimFields),
  }),
  vaultRoute({
    ...verbatim,
    id: 'pki-sign-verbatim-with-role',
    path: '/v1/{mount}/sign-verbatim/{role}',
    summary: 'Sign a certificate request as it is, with the times of a role',
    input: z.object({ role, ...verbatimFields }),
  }),
  vaultRoute({
    ...verbatim,
    ...byIssuer,
    id: 'pki-issuer-sign-verbatim',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign-verbatim',
    summary: 'Sign a certificate request as it is, by this issuer',
    input: z.object({ issuer_ref, ...verbatimFields }),
  }),
  vaultRoute({
    ...verbatim,
    ...byIssuer,
    id: 'pki-issuer-sign-verbatim-with-role',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign-verbatim/{role}',
    summary: 'Sign a certificate request as it is, by this issuer, with the times of a role',
    input: z.object({ role, issuer_ref, ...verbatimFields }),
  }),
];
