import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { z } from 'zod';
import { authEngines, secretEngines, systemRoutes } from '../../src/start/routes.ts';
import { type Reply, startTestServer } from '../support/server.ts';

// Conditions on parameters are about what an endpoint reads, in whatever words it is sent.

const client = await startTestServer({ after });
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
await ok(root('POST', 'sys/mounts/pki', { type: 'pki' }));
await ok(root('POST', 'sys/auth/up', { type: 'userpass' }));
await ok(root('POST', 'sys/auth/ar', { type: 'approle' }));
await ok(root('POST', 'pki/roles/there', {}));
const all = 'capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]';
const policy = `
path "pki/roles/*" { ${all}
  denied_parameters = { allow_any_name = [true] "max_ttl" = ["24h"] "allowed_domains" = ["a.test"] } }
path "pki/config/crl" { ${all}
  allowed_parameters = { "disable" = [false] "expiry" = ["72h"] } }
path "auth/up/users/*" { ${all}
  denied_parameters = { "token_policies" = ["admin"] } }
path "pki/config/urls" { ${all}
  required_parameters = ["crl_distribution_points"] }`;
await ok(root('POST', 'sys/policies/acl/bounded', { policy }));
const made = await ok(root('POST', 'auth/token/create', { policies: ['bounded'], ttl: '1h' }));
const token = made.textAt('auth.client_token');

const cases: [method: string, path: string, body: object, status: 200 | 403][] = [
  ...[true, 'true', 'TRUE', 't', 1, '1'].map((sent): (typeof cases)[number] => [
    'POST',
    'pki/roles/a',
    { allow_any_name: sent },
    403,
  ]),
  ['POST', 'pki/roles/a', { allow_any_name: 'f' }, 200],
  ['PATCH', 'pki/roles/there', { allow_any_name: 't' }, 403],
  ['PATCH', 'pki/roles/there', { allow_any_name: false }, 200],
  ...['24h', '1d', 86_400, '86400', '1440m'].map((sent): (typeof cases)[number] => [
    'POST',
    'pki/roles/a',
    { max_ttl: sent },
    403,
  ]),
  ['POST', 'pki/roles/a', { max_ttl: '25h' }, 200],
  ['POST', 'pki/roles/a', { allowed_domains: 'b.test,A.test' }, 403],
  ['POST', 'pki/roles/a', { allowed_domains: ['a.test.org'] }, 200],
  ['POST', 'pki/config/crl', { disable: 'f', expiry: '72h' }, 200],
  ['POST', 'pki/config/crl', { disable: 1 }, 403],
  ['POST', 'pki/config/crl', { expiry: '1h' }, 403],
  ['POST', 'auth/up/users/a', { password: 'x', policies: ['Admin'] }, 403],
  ['POST', 'auth/up/users/a', { password: 'x', policies: 'web' }, 200],
  ['POST', 'pki/config/urls', { crl_distribution_points: null }, 403],
  ['POST', 'pki/config/urls', { Crl_Distribution_Points: 'http://a.test/crl' }, 403],
  ['POST', 'pki/config/urls', { crl_distribution_points: '' }, 200],
];
for (const [method, path, body, status] of cases) {
  test(`${method} ${path} with ${JSON.stringify(body)} is ${status === 200 ? 'permitted' : 'refused'}`, async () => {
    const answer = await client.call(method, path, body, { token });
    assert.equal(answer.status < 300 ? 200 : answer.status, status, answer.text);
  });
}

const deniedToo: [path: string, denied: string, bodies: object[], permitted: object][] = [
  [
    'sys/remount',
    'from = ["moved", "auth/up2"]',
    [
      { from: 'moved/', to: 'moved2' },
      { from: '/moved', to: 'moved2' },
      { from: 'moved//', to: 'moved2' },
      { from: '/auth/up2/', to: 'auth/up3' },
    ],
    { from: 'moving/', to: '/moving2/' },
  ],
  ['sys/mounts/other', 'type = ["pki"]', [{ plugin_name: 'pki' }, { type: 'pki' }], {}],
  ['sys/auth/other', 'type = ["userpass"]', [{ plugin_name: 'userpass' }], { plugin_name: 'cert' }],
  [
    'sys/mounts/pki/tune',
    'max_lease_ttl = ["87600h"]',
    [{ max_lease_ttl: '315360000.5' }, { max_lease_ttl: '3650d' }, { max_lease_ttl: 315_360_000 }],
    { max_lease_ttl: '3651d' },
  ],
  [
    'pki/issue/any',
    'common_name = ["xn--bcher-kva.example"] "alt_names" = ["*.bücher.example"] "other_sans" = ["1.2.3;UTF8:a"]',
    [
      { common_name: 'bücher.example' },
      { common_name: 'a.test', alt_names: 'b.test, www.xn--bcher-kva.example' },
      { common_name: 'a.test', other_sans: '1.2.3; utf-8 :a' },
    ],
    { common_name: 'kaffee.example' },
  ],
  [
    'pki/roles/other',
    'issuer_ref = ["default"] "policy_identifiers" = ["1.2.3"]',
    [{ issuer_ref: '' }, { policy_identifiers: ['{"oid":"1.2.3"}'] }],
    { issuer_ref: 'web', policy_identifiers: ['1.2.4'] },
  ],
  [
    'auth/ar/role/a',
    'token_bound_cidrs = ["0.0.0.0/0"]',
    [{ token_bound_cidrs: '1.2.3.4/0' }, { token_bound_cidrs: ['0.0.0.0/00'] }],
    { token_bound_cidrs: '0.0.0.0/1' },
  ],
  [
    'sys/policies/acl/foo',
    'policy = ["*sudo*"]',
    [
      'path "x" { capabilities = ["su\\u0064o"] }',
      btoa('path "x" { capabilities = ["sudo"] }'),
    ].map((text) => ({ policy: text })),
    { policy: 'path "x" { capabilities = ["read"] }' },
  ],
];
for (const [path, denied, bodies, permitted] of deniedToo) {
  test(`what ${path} may not be sent it may not be sent in other words`, async () => {
    const text = `path "${path}" { ${all}\n denied_parameters = { ${denied} } }`;
    const named = path.replaceAll('/', '-');
    await ok(root('POST', `sys/policies/acl/${named}`, { policy: text }));
    const narrow = await ok(root('POST', 'auth/token/create', { policies: [named] }));
    const as = { token: narrow.textAt('auth.client_token') };
    for (const body of bodies) {
      const answer = await client.call('POST', path, body, as);
      assert.equal(answer.status, 403, `${JSON.stringify(body)} ${answer.text}`);
    }
    assert.notEqual((await client.call('POST', path, permitted, as)).status, 403);
  });
}

test('a mount is moved from and to paths with slashes at either end', async () => {
  await ok(root('POST', 'sys/mounts/here', { type: 'pki' }));
  await ok(root('POST', 'sys/remount', { from: '/here/', to: 'there/' }));
  assert.equal((await root('GET', 'sys/mounts/there')).status, 200);
  assert.equal((await root('GET', 'sys/mounts/here')).status, 400);
});

test('a lease time is left as it is by an empty text, and is the server\'s by the word "system"', async () => {
  const tune = async (body: object) => {
    await ok(root('POST', 'sys/mounts/tuned/tune', body));
    return Number((await root('GET', 'sys/mounts/tuned')).textAt('config.max_lease_ttl'));
  };
  await ok(root('POST', 'sys/mounts/tuned', { type: 'pki', config: { max_lease_ttl: '2h' } }));
  assert.equal(await tune({ max_lease_ttl: '' }), 7200);
  assert.equal(await tune({ max_lease_ttl: null }), 7200);
  assert.equal(await tune({ max_lease_ttl: '86400.9' }), 86_400);
  assert.equal(await tune({ max_lease_ttl: 'system' }), 0);
  for (const wrong of ['-1', 'soon', -1, true, '1w']) {
    const answer = await root('POST', 'sys/mounts/tuned/tune', { max_lease_ttl: wrong });
    assert.equal(answer.status, 400, String(wrong));
    assert.match(answer.text, /max_lease_ttl/);
  }
});

test('a form is judged by what is read of it, too', async () => {
  const send = (text: string) =>
    client.call('POST', 'pki/roles/a', new TextEncoder().encode(text), {
      token,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  assert.equal((await send('allow_any_name=t')).status, 403);
  assert.equal((await send('allow_any_name=f&allow_any_name=t')).status, 400, 'two readings');
  assert.ok((await send('allow_any_name=f')).status < 300);
});

test('what may not be said by a new name may not be said by the old one: each is declared', () => {
  const routes = [
    ...systemRoutes,
    ...Object.values(secretEngines).flat(),
    ...Object.values(authEngines).flat(),
  ];
  let found = 0;
  for (const route of routes) {
    for (const [name, field] of Object.entries(route.input.shape as Record<string, z.ZodType>)) {
      const stands = /^Old name of (\w+)/.exec(field.description ?? '')?.[1];
      assert.equal(route.old_names?.[name], stands, `${route.id}: ${name}`);
      if (stands) found += 1;
      if (stands) assert.ok(stands in route.input.shape, `${route.id}: ${stands}`);
    }
  }
  assert.ok(found >= 10, String(found));
});
