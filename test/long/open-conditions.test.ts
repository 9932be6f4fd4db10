// Some endpoints are open, and ask who comes with a token of their own: conditions and denials of
// policies count there as everywhere else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, startTestServer } from '../support/server.ts';

interface Sent {
  token?: string;
  headers?: Record<string, string>;
}

const ttl = (seconds: number) => ({ headers: { 'x-vault-wrap-ttl': `${seconds}` } });

/** What of a stanza for `sys/wrapping/*`, and whether unwrapping, rewrapping and looking up are permitted. */
const RULES: [
  stanza: string,
  sent: Sent,
  verdicts: { unwrap: number; rewrap: number; lookup: number },
][] = [
  ['capabilities = ["update"]', {}, { unwrap: 200, rewrap: 200, lookup: 200 }],
  ['capabilities = ["read"]', {}, { unwrap: 403, rewrap: 403, lookup: 200 }],
  ['capabilities = ["deny"]', {}, { unwrap: 403, rewrap: 403, lookup: 403 }],
  [
    'capabilities = ["update"] denied_parameters = { "token" = [] }',
    {},
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] denied_parameters = { "other" = [] }',
    {},
    { unwrap: 200, rewrap: 200, lookup: 200 },
  ],
  [
    'capabilities = ["update"] allowed_parameters = { "other" = [] }',
    {},
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] allowed_parameters = { "token" = [] }',
    {},
    { unwrap: 200, rewrap: 200, lookup: 200 },
  ],
  [
    'capabilities = ["update"] allowed_parameters = { "token" = ["hvs.x"] }',
    {},
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] required_parameters = ["token"]',
    {},
    { unwrap: 200, rewrap: 200, lookup: 200 },
  ],
  [
    'capabilities = ["update"] required_parameters = ["other"]',
    {},
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] min_wrapping_ttl = "60s"',
    {},
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] min_wrapping_ttl = "60s"',
    ttl(59),
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] min_wrapping_ttl = "60s"',
    ttl(60),
    { unwrap: 200, rewrap: 200, lookup: 200 },
  ],
  [
    'capabilities = ["update"] max_wrapping_ttl = "60s"',
    ttl(61),
    { unwrap: 403, rewrap: 403, lookup: 403 },
  ],
  [
    'capabilities = ["update"] max_wrapping_ttl = "60s"',
    ttl(60),
    { unwrap: 200, rewrap: 200, lookup: 200 },
  ],
];

async function tokenWith(client: Client, stanza: string, name = 'own'): Promise<string> {
  await client.call('PUT', `sys/policies/acl/${name}`, { policy: stanza });
  const body = { policies: [name], no_default_policy: true };
  return (await client.call('POST', 'auth/token/create', body)).textAt('auth.client_token');
}

async function wrap(client: Client): Promise<string> {
  const reply = await client.call('POST', 'sys/wrapping/wrap', { a: 1 }, ttl(60));
  return reply.textAt('wrap_info.token');
}

for (const [stanza, sent, verdicts] of RULES) {
  const how = sent.headers ? `, wrapped for ${Object.values(sent.headers)}` : '';
  test(`wrapped answers under ${stanza}${how}: ${JSON.stringify(verdicts)}`, async (t) => {
    const client = await startTestServer(t);
    const own = await tokenWith(client, `path "sys/wrapping/*" { ${stanza} }`);
    for (const [action, status] of Object.entries(verdicts)) {
      const token = await wrap(client);
      const path = `sys/wrapping/${action}`;
      const reply = await client.call('POST', path, { token }, { ...sent, token: own });
      assert.equal(reply.status, status, `${action}: ${reply.text}`);
      const left = await client.call('POST', 'sys/wrapping/unwrap', {}, { token });
      const isTaken = status === 200 && action !== 'lookup';
      assert.equal(left.status, isTaken ? 400 : 200, `${action}: what is left`);
    }
  });
}

test('a wrapping is looked up with a token that no policy speaks of it to, and not past a denial', async (t) => {
  const client = await startTestServer(t);
  const requests = [
    ['POST', 'sys/wrapping/lookup', 200],
    ['POST', 'sys/wrapping/unwrap', 403],
  ] as const;
  const own = await tokenWith(client, 'path "sys/other" { capabilities = ["update"] }');
  const token = await wrap(client);
  for (const [method, path, status] of requests) {
    assert.equal((await client.call(method, path, { token }, { token: own })).status, status);
  }
  const deny = 'path "sys/wrapping/lookup" { capabilities = ["deny"] }';
  const denied = await tokenWith(client, deny, 'denies');
  const asked = `sys/wrapping/lookup?token=${token}`;
  assert.equal((await client.call('GET', asked, undefined, { token: denied })).status, 403);
  assert.equal((await client.call('GET', asked, undefined, { token: own })).status, 200);
  // Without a token of their own it is nobody's policies that are asked.
  assert.equal((await client.call('POST', 'sys/wrapping/lookup', {}, { token })).status, 200);
  assert.equal((await client.call('POST', 'sys/wrapping/unwrap', {}, { token })).status, 200);
});

test('measurements are read within the conditions of the policy that permits it', async (t) => {
  const client = await startTestServer(t);
  const rules: [stanza: string, query: string, status: number][] = [
    ['denied_parameters = { "format" = ["prometheus"] }', '?format=prometheus', 403],
    ['denied_parameters = { "format" = ["prometheus"] }', '', 200],
    ['required_parameters = ["format"]', '?format=prometheus', 200],
    ['required_parameters = ["format"]', '', 403],
  ];
  for (const [stanza, query, status] of rules) {
    const own = await tokenWith(client, `path "sys/metrics" { capabilities = ["read"] ${stanza} }`);
    const reply = await client.call('GET', `sys/metrics${query}`, undefined, { token: own });
    assert.equal(reply.status, status, `${stanza} ${query}`);
  }
});
