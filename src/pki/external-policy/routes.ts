import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { choice, flag, text } from '../../core/fields.ts';
import { issuedSchema, signedLeafSchema } from '../certificates/answer.ts';
import { pemText } from '../fields/field-kinds.ts';
import { KEY_TYPES, keySize } from '../fields/key-field-kinds.ts';
import { outputFields } from '../profile/request.ts';
import { issueByPolicy, signByPolicy } from './operations.ts';
import { readPolicyAnswer, writePolicy } from './settings.operations.ts';
import { policyAnswerSchema, policyPatchSchema } from './settings.ts';

const PATH = '/v1/{mount}/external-policy';
const OF_ISSUER = '/v1/{mount}/issuer/{issuer_ref}/external-policy';

const issuer_ref = text().describe(
  'Id or name of the issuer, or "default"; the service may choose another.',
);
const policy = text().describe('What the service knows as a policy.');

const understood = {
  ...outputFields,
  remove_roots_from_chain: flag(false).describe('Leave self-signed certificates out of ca_chain.'),
};
const issueFields = {
  ...understood,
  key_type: choice(KEY_TYPES, 'rsa').describe('Type of the key that is made.'),
  key_bits: keySize(0).describe('Its size.'),
};
const signFields = {
  ...understood,
  csr: pemText('').describe('The request, PKCS #10 in PEM.'),
};

// Whatever else is sent is for the service, and may be a secret.
const audit = ['policy', 'issuer_ref', ...Object.keys(understood)];
const shared = {
  method: 'POST',
  access: { capability: 'update' },
  failures: ['invalid', 'unresolved', 'conflict', 'rate_limited', 'unavailable'],
} as const;
const issue = { ...shared, output: issuedSchema, audit: [...audit, 'key_type', 'key_bits'] };
const sign = { ...shared, see: ['RFC 2986'], output: signedLeafSchema, audit };
const byIssuer = { name_forms: { issuer_ref: 'default_word' } } as const;

type IssueBody = z.output<z.ZodObject<typeof issueFields>>;
type SignBody = z.output<z.ZodObject<typeof signFields>>;
/** Of the path alone: fields of a body that are called so are the service's. */
interface OfPath {
  policy?: string;
  issuer_ref?: string;
}

const runIssue = (app: App, caller: Caller, body: IssueBody, of: OfPath = {}) =>
  issueByPolicy(app, caller, questionOf(body, of), body);
const runSign = (app: App, caller: Caller, body: SignBody, of: OfPath = {}) =>
  signByPolicy(app, caller, { ...questionOf(body, of), mode: 'sign' }, body);
const runIntermediate = (app: App, caller: Caller, body: SignBody, of: OfPath = {}) =>
  signByPolicy(app, caller, { ...questionOf(body, of), mode: 'ica' }, body);

function questionOf(body: object, of: OfPath) {
  const user = Object.entries(body).filter(([name]) => !Object.hasOwn(of, name));
  const { policy = '', issuer_ref } = of;
  return { policy, issuer_ref, user: Object.fromEntries(user) };
}

const settingsRoutes: readonly AnyRoute[] = [
  vaultRoute({
    id: 'pki-read-external-policy-configuration',
    method: 'GET',
    path: '/v1/{mount}/config/external-policy',
    summary: 'Read how the external policy service is reached',
    access: { capability: 'read' },
    input: z.object({}),
    output: policyAnswerSchema,
    failures: [],
    run: async (app, caller) => ({ data: await readPolicyAnswer(app, caller) }),
  }),
  vaultRoute({
    id: 'pki-configure-external-policy',
    method: 'POST',
    path: '/v1/{mount}/config/external-policy',
    summary: 'Change how the external policy service is reached; what is left out stays',
    access: { capability: 'update' },
    input: policyPatchSchema,
    output: policyAnswerSchema,
    failures: ['invalid', 'conflict'],
    audit: [
      'enabled',
      'timeout',
      'trusted_ca',
      'trusted_leaf_certificate_bundle',
      'entity_jmespath',
      'group_jmespath',
    ],
    run: async (app, caller, patch) => ({ data: await writePolicy(app, caller, patch) }),
  }),
];

const issueRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...issue,
    id: 'pki-external-policy-issue',
    path: `${PATH}/issue`,
    summary: 'Make a key, and a certificate that the external policy service decides on',
    input: z.looseObject(issueFields),
    run: (app, caller, body) => runIssue(app, caller, body),
  }),
  vaultRoute({
    ...issue,
    id: 'pki-external-policy-issue-with-policy',
    path: `${PATH}/issue/{policy}`,
    summary:
      'Make a key, and a certificate that the external policy service decides on by a policy',
    input: z.looseObject({ policy, ...issueFields }),
    run: (app, caller, body) => runIssue(app, caller, body, { policy: body.policy }),
  }),
  vaultRoute({
    ...issue,
    ...byIssuer,
    id: 'pki-issuer-external-policy-issue',
    path: `${OF_ISSUER}/issue`,
    summary:
      'Make a key, and a certificate that the external policy service decides on, by this issuer',
    input: z.looseObject({ issuer_ref, ...issueFields }),
    run: (app, caller, body) => runIssue(app, caller, body, { issuer_ref: body.issuer_ref }),
  }),
  vaultRoute({
    ...issue,
    ...byIssuer,
    id: 'pki-issuer-external-policy-issue-with-policy',
    path: `${OF_ISSUER}/issue/{policy}`,
    summary:
      'Make a key, and a certificate that the external policy service decides on by a policy, by this issuer',
    input: z.looseObject({ policy, issuer_ref, ...issueFields }),
    run: (app, caller, body) =>
      runIssue(app, caller, body, { policy: body.policy, issuer_ref: body.issuer_ref }),
  }),
];

const signRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...sign,
    id: 'pki-external-policy-sign',
    path: `${PATH}/sign`,
    summary: 'Sign a certificate that the external policy service decides on',
    input: z.looseObject(signFields),
    run: (app, caller, body) => runSign(app, caller, body),
  }),
  vaultRoute({
    ...sign,
    id: 'pki-external-policy-sign-with-policy',
    path: `${PATH}/sign/{policy}`,
    summary: 'Sign a certificate that the external policy service decides on by a policy',
    input: z.looseObject({ policy, ...signFields }),
    run: (app, caller, body) => runSign(app, caller, body, { policy: body.policy }),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-external-policy-sign',
    path: `${OF_ISSUER}/sign`,
    summary: 'Sign a certificate that the external policy service decides on, by this issuer',
    input: z.looseObject({ issuer_ref, ...signFields }),
    run: (app, caller, body) => runSign(app, caller, body, { issuer_ref: body.issuer_ref }),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-external-policy-sign-with-policy',
    path: `${OF_ISSUER}/sign/{policy}`,
    summary:
      'Sign a certificate that the external policy service decides on by a policy, by this issuer',
    input: z.looseObject({ policy, issuer_ref, ...signFields }),
    run: (app, caller, body) =>
      runSign(app, caller, body, { policy: body.policy, issuer_ref: body.issuer_ref }),
  }),
];

const intermediateRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...sign,
    id: 'pki-external-policy-sign-intermediate',
    path: `${PATH}/sign-intermediate`,
    summary: 'Sign the certificate of a CA that the external policy service decides on',
    input: z.looseObject(signFields),
    run: (app, caller, body) => runIntermediate(app, caller, body),
  }),
  vaultRoute({
    ...sign,
    id: 'pki-external-policy-sign-intermediate-with-policy',
    path: `${PATH}/sign-intermediate/{policy}`,
    summary: 'Sign the certificate of a CA that the external policy service decides on by a policy',
    input: z.looseObject({ policy, ...signFields }),
    run: (app, caller, body) => runIntermediate(app, caller, body, { policy: body.policy }),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-external-policy-sign-intermediate',
    path: `${OF_ISSUER}/sign-intermediate`,
    summary:
      'Sign the certificate of a CA that the external policy service decides on, by this issuer',
    input: z.looseObject({ issuer_ref, ...signFields }),
    run: (app, caller, body) => runIntermediate(app, caller, body, { issuer_ref: body.issuer_ref }),
  }),
  vaultRoute({
    ...sign,
    ...byIssuer,
    id: 'pki-issuer-external-policy-sign-intermediate-with-policy',
    path: `${OF_ISSUER}/sign-intermediate/{policy}`,
    summary:
      'Sign the certificate of a CA that the external policy service decides on by a policy, by this issuer',
    input: z.looseObject({ policy, issuer_ref, ...signFields }),
    run: (app, caller, body) =>
      runIntermediate(app, caller, body, { policy: body.policy, issuer_ref: body.issuer_ref }),
  }),
];

export const externalPolicyRoutes: readonly AnyRoute[] = [
  ...settingsRoutes,
  ...issueRoutes,
  ...signRoutes,
  ...intermediateRoutes,
];
