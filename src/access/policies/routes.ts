import { z } from 'zod';
import { readEscapes, unpackPolicyText } from '../../acl/policy-text.ts';
import type { App } from '../../app/app.ts';
import { flat, nothing, type Output } from '../../app/output.ts';
import { type AnyRoute, type Route, vaultRoute } from '../../app/route.ts';
import { comparedBy, eachText } from '../../core/comparison.ts';
import { invalid } from '../../core/failure.ts';
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
const none = z.object({});
const listed = { on_any_thread: true, input: none, failures: [] } as const;
const named = z.object({ name });

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
  throw invalid(`${wanted} is not supported for policies`, {
    fields: { [wanted]: 'leave it out; a path in a policy may have an expiration of its own' },
  });
}

/** The same policies as they are addressed now and as they were of old, when they were shown otherwise. */
function routesAt<All extends Output, One extends Output>(
  base: '/v1/sys/policies/acl' | '/v1/sys/policy',
  list: Pick<Route<typeof none, All>, 'output' | 'run'>,
  read: Pick<Route<typeof named, One>, 'output' | 'run'>,
): AnyRoute[] {
  const [id, other] =
    base === '/v1/sys/policy'
      ? (['policy', '/v1/sys/policies/acl'] as const)
      : (['policies', '/v1/sys/policy'] as const);
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
      ...listed,
      ...list,
    }),
    vaultRoute({
      id: `${id}-read-acl-policy`,
      on_any_thread: true,
      method: 'GET',
      path: `${base}/{name}`,
      summary: 'Read a policy',
      access: { capability: 'read' },
      path_forms,
      name_forms,
      sets_also: alike(),
      input: named,
      failures: ['not_found'],
      ...read,
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
      output: nothing,
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
      input: named,
      output: nothing,
      failures: ['invalid'],
      run: removePolicy,
    }),
  ];
}

const keys = z.array(z.string());
const facts = {
  version: z.int().describe('Grows by one with each write.'),
  modified: z.string().describe('RFC 3339.'),
  cas_required: z.boolean(),
};

const describeFacts = ({ version, modified_at }: { version: number; modified_at: number }) => ({
  version,
  modified: new Date(modified_at * 1000).toISOString(),
  cas_required: false,
});

const listNames = (app: App) => listAllKeys((page) => listPolicies(app, page));

const listedTwice = flat(z.object({ keys, policies: keys }));
const listTwice: Pick<Route<typeof none, typeof listedTwice>, 'output' | 'run'> = {
  output: listedTwice,
  async run(app) {
    const { keys, pages } = await listNames(app);
    const info = pages && { field: 'policies', pages };
    return {
      data: { keys, policies: keys },
      ...(pages && info ? { long_list: { field: 'keys', pages, info } } : {}),
    };
  },
};

export const policyRoutes: AnyRoute[] = [
  ...routesAt(
    '/v1/sys/policies/acl',
    {
      output: z.object({ keys }),
      async run(app) {
        const { keys, pages } = await listNames(app);
        return { data: { keys }, ...(pages ? { long_list: { field: 'keys', pages } } : {}) };
      },
    },
    {
      output: z.object({ name: z.string(), policy: z.string(), ...facts }),
      async run(app, _caller, input) {
        const policy = await readPolicy(app, input);
        return { data: { name: policy.name, policy: policy.body, ...describeFacts(policy) } };
      },
    },
  ),
  ...routesAt('/v1/sys/policy', listTwice, {
    output: flat(z.object({ name: z.string(), rules: z.string(), ...facts })),
    async run(app, _caller, input) {
      const policy = await readPolicy(app, input);
      return { data: { name: policy.name, rules: policy.body, ...describeFacts(policy) } };
    },
  }),
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
    ...listed,
    ...listTwice,
  }),
];
