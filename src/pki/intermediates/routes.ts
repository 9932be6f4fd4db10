import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { signedCaSchema } from '../certificates/answer.ts';
import { intermediateCsrFields, intermediateFields } from '../profile/intermediate.ts';
import { selfIssuedFields } from '../profile/self-issued.ts';
import { generatedCsr, signedSelfIssued } from './answers.ts';
import { generateIntermediateCsr } from './csr.operations.ts';
import { signIntermediate } from './operations.ts';
import { signSelfIssued } from './self-issued.operations.ts';

const exported = text().describe(
  '"internal"; "exported" to be given the private key, once; "existing" for a key of the mount.',
);
const issuer_ref = text().describe('Id or name of the issuer, or "default".');
const byIssuer = { name_forms: { issuer_ref: 'default_word' } } as const;

const operation = {
  method: 'POST',
  access: { capability: 'update' },
  failures: ['invalid', 'unresolved', 'conflict', 'rate_limited', 'unavailable'],
} as const;

const GENERATE = '/v1/{mount}/intermediate/generate/{exported}';
const ISSUERS_GENERATE = '/v1/{mount}/issuers/generate/intermediate/{exported}';
const csrFieldNames = Object.keys(intermediateCsrFields);
const sameAt = (path: typeof GENERATE | typeof ISSUERS_GENERATE) => ({
  sets_also: [{ path, fields: csrFieldNames, when: [] }],
});

const generate = {
  ...operation,
  summary: 'Make a request for the certificate of an intermediate, and its key',
  see: ['RFC 2986'],
  output: generatedCsr,
  audit: ['exported', ...csrFieldNames],
  run: generateIntermediateCsr,
} as const;
const sign = {
  ...operation,
  on_any_thread: true,
  see: ['RFC 5280 §4.1', 'RFC 5280 §4.2'],
  output: signedCaSchema,
  // What the certificate states in the end is in the certificate.
  audit: ['issuer_ref', ...Object.keys(intermediateFields).filter((name) => name !== 'csr')],
  run: signIntermediate,
} as const;
const signItself = {
  ...operation,
  output: signedSelfIssued,
  audit: ['issuer_ref', 'require_matching_certificate_algorithms'],
  run: signSelfIssued,
};

export const intermediateRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...generate,
    id: 'pki-generate-intermediate',
    path: GENERATE,
    ...sameAt(ISSUERS_GENERATE),
    input: z.object({ exported, ...intermediateCsrFields }),
  }),
  vaultRoute({
    ...generate,
    id: 'pki-issuers-generate-intermediate',
    path: ISSUERS_GENERATE,
    ...sameAt(GENERATE),
    input: z.object({ exported, ...intermediateCsrFields }),
  }),
  vaultRoute({
    ...generate,
    id: 'pki-cross-sign-intermediate',
    path: '/v1/{mount}/intermediate/cross-sign',
    summary: 'Make a request for another certificate of a key that is there',
    input: z.object(intermediateCsrFields),
    audit: csrFieldNames,
    run: (app, caller, input) =>
      generateIntermediateCsr(app, caller, { ...input, exported: 'existing' }),
  }),
  vaultRoute({
    ...sign,
    id: 'pki-root-sign-intermediate',
    path: '/v1/{mount}/root/sign-intermediate',
    summary: 'Sign the request of an intermediate',
    input: z.object(intermediateFields),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-sign-intermediate',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign-intermediate',
    summary: 'Sign the request of an intermediate, by this issuer',
    input: z.object({ issuer_ref, ...intermediateFields }),
  }),
  vaultRoute({
    ...signItself,
    id: 'pki-root-sign-self-issued',
    path: '/v1/{mount}/root/sign-self-issued',
    summary: 'Sign the certificate that another authority has signed itself',
    access: { capability: 'update', sudo: true },
    input: z.object(selfIssuedFields),
  }),
  vaultRoute({
    ...signItself,
    ...byIssuer,
    id: 'pki-issuer-sign-self-issued',
    path: '/v1/{mount}/issuer/{issuer_ref}/sign-self-issued',
    summary: 'Sign the certificate that another authority has signed itself, by this issuer',
    input: z.object({ issuer_ref, ...selfIssuedFields }),
  }),
];
