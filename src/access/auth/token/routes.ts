import { z } from 'zod';
import { authOutput, nothing, type Output } from '../../../app/output.ts';
import { type AnyRoute, type Route, type SetElsewhere, vaultRoute } from '../../../app/route.ts';
import { duration, flag, integer, optional, stringMap, text } from '../../../core/fields.ts';
import { workOf } from '../../leases/ending.operations.ts';
import { tokenReply } from '../../tokens/answers.ts';
import type { TokenRequest } from '../../tokens/creation-request.ts';
import { tidyTokensOnce } from '../../tokens/expiration.operations.ts';
import { displayText, policyList, tokenTypeText } from '../../tokens/field-kinds.ts';
import {
  createToken,
  listTokenAccessors,
  lookUpAccessor,
  lookUpSelf,
  lookUpToken,
} from './operations.ts';
import { renewByAccessor, renewByText, renewSelf } from './renewal.operations.ts';
import {
  revokeByAccessor,
  revokeByText,
  revokeOrphan,
  revokeSelf,
} from './revocation.operations.ts';
import { tokenRoleRoutes } from './roles.routes.ts';

const token = text('').describe('The token; the own one where none is given.');
const accessor = text('').describe('Accessor of the token.');
const increment = duration(0).describe('How long it shall live from now on. Seconds.');
const role_name = text().describe('The token role to make it by.');

const requestFields = {
  id: text('').describe('The text of the token, instead of a random one. Needs sudo.'),
  policies: policyList([]).describe("Policies of the token; by default those of the caller's."),
  meta: optional(stringMap()).describe('Shown when the token is looked up, and in audit records.'),
  no_parent: flag(false).describe('Make an orphan. Needs sudo.'),
  no_default_policy: flag(false).describe('Do not add the policy "default".'),
  renewable: flag(true).describe('Let it be renewed up to its maximum.'),
  ttl: duration(0).describe("Seconds; 0: the mount's default."),
  lease: duration(0).describe('Old name of ttl.'),
  explicit_max_ttl: duration(0).describe('No renewal goes beyond this. Seconds; 0: no bound.'),
  period: duration(0).describe('Each renewal gives this much, without end. Needs sudo.'),
  display_name: displayText('').describe('Shown when the token is looked up.'),
  num_uses: integer(0).describe('Requests it is good for. 0: unlimited.'),
  type: tokenTypeText('').describe('"service" or "batch".'),
  entity_alias: text('').describe("One of the role's allowed_entity_aliases."),
};
const requestSchema = z.object(requestFields);

/** Request fields that a record may hold as they are: everything but the token itself. */
const audited = Object.keys(requestFields).filter((name) => name !== 'id');

function requestOf({ lease, ...fields }: z.output<typeof requestSchema>): TokenRequest {
  return { ...fields, ttl: fields.ttl || lease };
}

/** Endpoints that answer reads and writes alike, since clients use both. */
function bothWays<In extends z.ZodObject, Out extends Output>(
  route: Omit<Route<In, Out>, 'method' | 'access'>,
): AnyRoute[] {
  return [
    vaultRoute({ ...route, method: 'GET', access: { capability: 'read' } }),
    vaultRoute({
      ...route,
      id: `${route.id}-2`,
      method: 'POST',
      access: { capability: 'update' },
    }),
  ];
}

/** Tokens without a parent have an endpoint of their own. */
const orphans: SetElsewhere = {
  path: '/v1/auth/{mount}/create-orphan',
  fields: Object.keys(requestFields).filter((name) => name !== 'no_parent'),
  when: ['no_parent'],
};

export const tokenRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'token-create',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/create',
    summary: 'Make a child of the own token',
    access: { capability: 'update' },
    audit: audited,
    old_names: { lease: 'ttl' },
    sets_also: [orphans],
    input: requestSchema,
    output: authOutput,
    failures: ['invalid', 'conflict'],
    run: (app, caller, input) =>
      createToken(app, caller, { request: requestOf(input), orphan: false }),
  }),
  vaultRoute({
    id: 'token-create-orphan',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/create-orphan',
    summary: 'Make a token without a parent',
    access: { capability: 'update', sudo: true },
    audit: audited,
    old_names: { lease: 'ttl' },
    input: requestSchema,
    output: authOutput,
    failures: ['invalid', 'conflict'],
    run: (app, caller, input) =>
      createToken(app, caller, { request: requestOf(input), orphan: true }),
  }),
  vaultRoute({
    id: 'token-create-against-role',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/create/{role_name}',
    summary: 'Make a token by a role',
    access: { capability: 'update' },
    audit: ['role_name', ...audited],
    old_names: { lease: 'ttl' },
    sets_also: [orphans],
    input: z.object({ role_name, ...requestFields }),
    output: authOutput,
    failures: ['invalid', 'conflict'],
    run: (app, caller, { role_name, ...fields }) =>
      createToken(app, caller, { request: requestOf(fields), orphan: false, role_name }),
  }),
  ...bothWays({
    id: 'token-look-up-self',
    on_any_thread: true,
    path: '/v1/auth/{mount}/lookup-self',
    summary: 'Look up the own token',
    input: z.object({}),
    output: tokenReply,
    failures: [],
    run: lookUpSelf,
  }),
  ...bothWays({
    id: 'token-look-up',
    on_any_thread: true,
    path: '/v1/auth/{mount}/lookup',
    summary: 'Look up a token',
    input: z.object({ token }),
    output: tokenReply,
    failures: ['forbidden'],
    run: lookUpToken,
  }),
  vaultRoute({
    id: 'token-look-up-accessor',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/lookup-accessor',
    summary: 'Look up a token by its accessor',
    access: { capability: 'update' },
    audit: ['accessor'],
    input: z.object({ accessor }),
    output: tokenReply,
    failures: ['invalid'],
    run: lookUpAccessor,
  }),
  vaultRoute({
    id: 'token-renew-self',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/renew-self',
    summary: 'Renew the own token',
    access: { capability: 'update' },
    audit: ['increment'],
    input: z.object({ increment }),
    output: authOutput,
    failures: ['invalid', 'conflict'],
    run: renewSelf,
  }),
  vaultRoute({
    id: 'token-renew',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/renew',
    summary: 'Renew a token',
    access: { capability: 'update' },
    audit: ['increment'],
    input: z.object({ token, increment }),
    output: authOutput,
    failures: ['invalid', 'forbidden', 'conflict'],
    run: renewByText,
  }),
  vaultRoute({
    id: 'token-renew-accessor',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/auth/{mount}/renew-accessor',
    summary: 'Renew a token by its accessor',
    access: { capability: 'update' },
    audit: ['accessor', 'increment'],
    input: z.object({ accessor, increment }),
    output: authOutput,
    failures: ['invalid', 'conflict'],
    run: renewByAccessor,
  }),
  vaultRoute({
    id: 'token-revoke-self',
    method: 'POST',
    path: '/v1/auth/{mount}/revoke-self',
    summary: 'Revoke the own token and all that descend from it',
    access: { capability: 'update' },
    input: z.object({}),
    output: nothing,
    failures: ['invalid'],
    run: revokeSelf,
  }),
  vaultRoute({
    id: 'token-revoke',
    method: 'POST',
    path: '/v1/auth/{mount}/revoke',
    summary: 'Revoke a token and all that descend from it',
    access: { capability: 'update' },
    input: z.object({ token }),
    output: nothing,
    failures: ['invalid'],
    run: revokeByText,
  }),
  vaultRoute({
    id: 'token-revoke-accessor',
    method: 'POST',
    path: '/v1/auth/{mount}/revoke-accessor',
    summary: 'Revoke a token by its accessor, and all that descend from it',
    access: { capability: 'update' },
    audit: ['accessor'],
    input: z.object({ accessor }),
    output: nothing,
    failures: ['invalid'],
    run: revokeByAccessor,
  }),
  vaultRoute({
    id: 'token-revoke-orphan',
    method: 'POST',
    path: '/v1/auth/{mount}/revoke-orphan',
    summary: 'Revoke a token and make orphans of its children',
    access: { capability: 'update', sudo: true },
    input: z.object({ token }),
    output: nothing,
    failures: ['invalid'],
    run: revokeOrphan,
  }),
  vaultRoute({
    id: 'token-list-accessors',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/auth/{mount}/accessors',
    summary: 'List the accessors of all tokens',
    access: { capability: 'list', sudo: true },
    input: z.object({}),
    output: z.object({ keys: z.array(z.string()) }),
    failures: ['not_found', 'rate_limited'],
    run: (app, caller) => listTokenAccessors(app, caller),
  }),
  vaultRoute({
    id: 'token-tidy',
    method: 'POST',
    path: '/v1/auth/{mount}/tidy',
    summary: 'Delete what is left of tokens that have run out',
    access: { capability: 'update' },
    input: z.object({}),
    output: nothing,
    status: 202,
    failures: [],
    run: async (app, caller) => {
      // Pages follow each other: the request's own record says first whether the caller may.
      await app.commit(caller, []);
      await tidyTokensOnce(app, workOf(app, caller));
      return { warnings: ['Tokens that have run out are deleted.'] };
    },
  }),
  ...tokenRoleRoutes,
];
