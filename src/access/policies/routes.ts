import { z } from 'zod';
import { readEscapes, unpackPolicyText } from '../../acl/policy-text.ts';
import type { App } from '../../app/app.ts';
import { undeclared } from '../../app/output.ts';
import type { VaultResult } from '../../app/result.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { comparedBy, eachText } from '../../core/comparison.ts';
import { Failure } from '../../core/failure.ts';
import { duration, flag, longText, text } from '../../core/fields.ts';
import { listAllKeys } from '../../core/key-list.ts';
import { listPolicies, readPolicy, removePolicy, writePolicy } from './operations.ts';

/** A policy is one text, whatever it is packed in; escapes hide no word of it. */
const policyText = comparedBy(longText, {
  form: eachText(unpackPolicyText),
  also: (policy) => (policy.includes('\\') ? [readEscapes(policy)] : []),
});

const name = text().describe('Name of the policy; upper case counts as lower case.');
/** Policy names may hold anything but a slash. */
const path_forms = { name: /^[^/]+$/ };
const name_forms = { name: 'lower_case' } as const;
const anything = undeclared;

const notHere = 'Not supported: refused, as without it more would be permitted than was meant.';

/** On which a policy, or the writing of it, would depend. */
const conditions = {
  expiration: text('').describe(notHere),
  ttl: duration(0).describe(notHere),
  cas: text('').describe(notHere),
  cas_required: flag(false).describe(notHere),
};

/** @throws Failure `invalid`, naming the first one: what was written without them would hold, and hold on */
function refuseConditions(sent: Readonly<Record<keyof typeof conditions, unknown>>): void {
  const [wanted] = Object.entries(sent).find(([, value]) => Boolean(value)) ?? [];
  if (wanted === undefined) return;
  throw new Failure('invalid', `${wanted} is not supported for policies`, {
    fields: { [wanted]: 'leave it out; a path in a policy may have an expiration of its own' },
  });
}

/** The same policies as they are addressed now and as they were of old. */
function routesAt(
  base: '/v1/sys/policies/acl' | '/v1/sys/policy',
  key: 'policy' | 'rules',
): AnyRoute[] {
  const id = key === 'policy' ? 'policies' : 'policy';
  const other = key === 'policy' ? '/v1/sys/policy' : '/v1/sys/policies/acl';
  const alike = (...fields: string[]) => [{ path: `${other}/{name}`, fields, when: [] }] as const;
  return [
    vaultRoute({
      id: `${id}-list-acl-policies`,
      method: 'LIST',
      path: base,
      summary: 'List policies',
      access: { capability: 'list' },
      sets_also: [
        { path: other, fields: [], when: [] },
        { path: '/v1/sys/policy', method: 'GET', fields: [], when: [] },
      ],
      input: z.object({}),
      output: anything,
      failures: [],
      run: (app) => listAnswer(app, key),
    }),
    vaultRoute({
      id: `${id}-read-acl-policy`,
      method: 'GET',
      path: `${base}/{name}`,
      summary: 'Read a policy',
      access: { capability: 'read' },
      path_forms,
      name_forms,
      sets_also: alike(),
      input: z.object({ name }),
      output: anything,
      failures: ['not_found'],
      run: (app, _caller, input) => readPolicy(app, input, key),
    }),
    vaultRoute({
      id: `${id}-write-acl-policy`,
      method: 'POST',
      path: `${base}/{name}`,
      summary: 'Write a policy',
      access: { capability: 'update' },
      path_forms,
      name_forms,
      audit: ['name', 'policy', 'rules', ...Object.keys(conditions)],
      old_names: { rules: 'policy' },
      sets_also: alike('policy'),
      input: z.object({
        name,
        policy: policyText('').describe('The rules as HCL or JSON, or base64 of either.'),
        rules: policyText('').describe('Old name of policy.'),
        ...conditions,
      }),
      output: anything,
      failures: ['invalid'],
      run(app, caller, { name, policy, rules, ...sent }) {
        refuseConditions(sent);
        return writePolicy(app, caller, { name, text: policy || rules });
      },
    }),
    vaultRoute({
      id: `${id}-delete-acl-policy`,
      method: 'DELETE',
      path: `${base}/{name}`,
      summary: 'Delete a policy',
      access: { capability: 'delete' },
      path_forms,
      name_forms,
      audit: ['name'],
      sets_also: alike(),
      input: z.object({ name }),
      output: anything,
      failures: ['invalid'],
      run: removePolicy,
    }),
  ];
}

async function listAnswer(app: App, key: 'policy' | 'rules'): Promise<VaultResult> {
  const { keys, pages } = await listAllKeys((page) => listPolicies(app, page));
  const long_list = pages && { field: 'keys', pages };
  if (key === 'policy') return { data: { keys }, ...(long_list ? { long_list } : {}) };
  const info = pages && { field: 'policies', pages };
  return {
    data: { keys, policies: keys },
    flat: true,
    ...(long_list && info ? { long_list: { ...long_list, info } } : {}),
  };
}

export const policyRoutes: AnyRoute[] = [
  ...routesAt('/v1/sys/policies/acl', 'policy'),
  ...routesAt('/v1/sys/policy', 'rules'),
  vaultRoute({
    id: 'policy-read-all',
    method: 'GET',
    path: '/v1/sys/policy',
    summary: 'List policies, as of old',
    access: { capability: 'read' },
    sets_also: [
      { path: '/v1/sys/policies/acl', method: 'LIST', fields: [], when: [] },
      { path: '/v1/sys/policy', method: 'LIST', fields: [], when: [] },
    ],
    input: z.object({}),
    output: anything,
    failures: [],
    run: (app) => listAnswer(app, 'rules'),
  }),
];
