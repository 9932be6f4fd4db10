import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, test } from 'node:test';
import { type Reply, startTestServer } from '../support/server.ts';

// A request says one thing: to permission and to the operation, to this server and to what stands
// before it. What could be read in two ways is refused.

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
await ok(root('POST', 'auth/ar/role/a', {}));
const made = await ok(root('POST', 'auth/token/create', { policies: ['default'] }));
const other = made.textAt('auth.client_token');
const broker = await fetch(`${client.url}/v1/auth-methods?scope_id=global`);
assert.equal(broker.status, 200, await broker.text());

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const send = (text: string, headers: Record<string, string> = FORM, path = 'pki/roles/a') =>
  client.call('POST', path, new TextEncoder().encode(text), { headers });

for (const blank of ['', ' ', '\n', '\r\n', '\t', ' \n\t  ']) {
  test(`JSON that is called a form is read as JSON after ${JSON.stringify(blank)}`, async () => {
    await ok(send(`${blank}{"allow_any_name":"1","ttl":"7s"}`));
    const role = await root('GET', 'pki/roles/a');
    assert.equal(role.field('data.allow_any_name'), true);
    assert.equal(role.field('data.ttl'), 7);
    await ok(root('DELETE', 'pki/roles/a'));
  });
}

for (const blank of ['\ufeff', '\u000b', '\u00a0', '\u0000']) {
  test(`JSON after ${JSON.stringify(blank)} is refused and not read as a form`, async () => {
    assert.equal((await send(`${blank}{"allow_any_name":"1"}`)).status, 400);
    assert.equal((await root('GET', 'pki/roles/a')).status, 404);
  });
}

test('a form is read as a form, and not where nothing says that it is one', async () => {
  await ok(send('allow_any_name=1'));
  await ok(root('DELETE', 'pki/roles/a'));
  const untyped = await send('allow_any_name=1', { 'content-type': '' });
  assert.equal(untyped.status, 400);
});

test('a field that comes twice is refused, in JSON, in a form and in a query', async () => {
  assert.equal((await send('{"ttl":"1h","ttl":"2h"}', {})).status, 400);
  assert.equal((await send('ttl=1h&ttl=2h')).status, 400);
  assert.equal((await root('LIST', 'pki/certs?limit=1&limit=100')).status, 400);
  await ok(send('allowed_domains=a.test&allowed_domains=b.test'));
  const role = await root('GET', 'pki/roles/a');
  assert.deepEqual(role.field('data.allowed_domains'), ['a.test', 'b.test'], 'a list is one field');
});

test('the query of a request with a body says nothing', async () => {
  await ok(root('POST', 'pki/roles/b?allow_any_name=true&ttl=9s', { ttl: '7s' }));
  const role = await root('GET', 'pki/roles/b');
  assert.equal(role.field('data.allow_any_name'), false);
  assert.equal(role.field('data.ttl'), 7);
});

const PROTOTYPES = ['{"__proto__":{"allow_any_name":true}}', '{"constructor":{"prototype":{}}}'];
for (const body of PROTOTYPES) {
  test(`${body} is refused`, async () => {
    assert.equal((await send(body, {})).status, 400);
  });
}

test('names that objects inherit are fields like others', async () => {
  await ok(send('{"constructor":"x","toString":"y"}', {}));
  await ok(send('constructor=x&hasOwnProperty=y'));
  assert.equal((await send('__proto__=x')).status, 400);
});

const CONTROLS: [path: string, body: object, field: string][] = [
  ['pki/roles/a', { allowed_domains: ['a.test', 'b\u0000.test'] }, 'allowed_domains'],
  ['pki/roles/a', { allowed_domains: '["b\\u0000.test"]' }, 'allowed_domains'],
  ['pki/roles/a', { ou: 'a,\u001b[31m' }, 'ou'],
  ['pki/roles/a', { issuer_ref: 'a\u0000' }, 'issuer_ref'],
  ['sys/mounts/p2', { type: 'pki', description: 'a\u0008' }, 'description'],
  ['sys/mounts/p2', { type: 'pki', config: { token_type: 'a\u0000' } }, 'config'],
  ['sys/mounts/p2', { type: 'pki', options: { 'a\u0000': 'b' } }, 'options'],
  ['identity/entity', { name: 'e1', metadata: { team: 'a\u0000' } }, 'metadata'],
  ['identity/entity', { name: 'e1', metadata: 'te\u0000am=a' }, 'metadata'],
  ['identity/entity', { name: 'e1', policies: ['a\u007f'] }, 'policies'],
  ['identity/group', { name: 'g1', member_entity_ids: ['a\u0000'] }, 'member_entity_ids'],
  ['auth/token/create', { display_name: 'a\u0000' }, 'display_name'],
  ['auth/token/create', { meta: { a: '\u0000' } }, 'meta'],
  ['auth/ar/role/a/secret-id', { metadata: '{"a":"\\u0000"}' }, 'metadata'],
  ['auth/up/users/u', { password: 'x', token_policies: 'a\u0000' }, 'token_policies'],
];
for (const [path, body, field] of CONTROLS) {
  test(`${path} with ${JSON.stringify(body)} is refused naming ${field}`, async () => {
    const answer = await root('POST', path, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, new RegExp(`\\b${field}\\b`));
    assert.match(answer.text, /without control characters/);
  });
}

const BROKER_CONTROLS: [path: string, body: object, field: string][] = [
  ['targets', { scope_id: 'p_1', type: 'tcp', address: 'a\u0000', name: 'x' }, 'address'],
  [
    'targets',
    { scope_id: 'p_1', type: 'tcp', attributes: { default_port: '\u0000' } },
    'attributes.default_port',
  ],
  ['roles', { scope_id: 'global', grant_scope_ids: ['this', 'a\u0000'] }, 'grant_scope_ids'],
  [
    'accounts',
    { auth_method_id: 'ampw_1', attributes: { login_name: 'a\u001b' } },
    'attributes.login_name',
  ],
];
for (const [path, body, field] of BROKER_CONTROLS) {
  test(`${path} of the broker with ${JSON.stringify(body)} is refused naming ${field}`, async () => {
    const answer = await root('POST', path, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /cannot contain control characters/);
    assert.ok(answer.text.includes(`"${field}"`), answer.text);
  });
}

test('texts may have lines and tabs, and cubbyholes anything', async () => {
  await ok(root('POST', 'sys/mounts/p3', { type: 'pki', description: 'a\n\tb' }));
  await ok(root('POST', 'identity/entity', { name: 'e2', metadata: { note: 'a\nb' } }));
  await ok(root('POST', 'cubbyhole/a', { anything: 'a\u0000b' }));
  assert.equal((await root('GET', 'cubbyhole/a')).field('data.anything'), 'a\u0000b');
});

test('a field that comes twice in a query of the broker is refused, but for a mask', async () => {
  const read = (query: string, method = 'GET', body?: string) =>
    fetch(`${client.url}/v1/auth-methods${query}`, {
      method,
      headers: { authorization: 'Bearer root', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await read('?scope_id=global&recursive=true')).status, 200);
  for (const more of ['scope_id=global', 'scope_id=', 'scope_id', 'scope%5fid=global']) {
    const refused = await read(`?scope_id=global&${more}`);
    const text = await refused.text();
    assert.equal(refused.status, 400, text);
    assert.match(text, /"name":"scope_id","description":"This is given more than once."/);
  }
  const masks = await read('/ampw_none?update_mask=name&update_mask=description', 'PATCH', '{}');
  assert.doesNotMatch(await masks.text(), /given more than once/);
});

/** Bodies of the broker, and the field that they have in both of its spellings. */
const SPELLINGS: [path: string, body: object, field?: string][] = [
  ['groups', { scope_id: 'global', name: 'g' }],
  ['groups', { scopeId: 'global', name: 'g2' }],
  ['groups', { scope_id: 'p_1', scopeId: 'global', name: 'g3' }, 'scope_id'],
  ['groups', { scopeId: 'global', scope_id: 'p_1', name: 'g3' }, 'scope_id'],
  ['groups', { scopeId: 'global', scope_id: null, name: 'g3' }, 'scope_id'],
  ['groups', { scopeId: 'global', scope_id: 'global', name: 'g3' }, 'scope_id'],
  [
    'targets',
    { scope_id: 'p_1', sessionMaxSeconds: 1, session_max_seconds: 2 },
    'session_max_seconds',
  ],
  [
    'roles/r_1234567890:set-grants',
    { version: 1, grant_strings: ['ids=*;type=*;actions=read'], grantStrings: [] },
    'grant_strings',
  ],
  [
    'auth-methods/ampw_1:authenticate',
    { tokenType: 'token', token_type: 'cookie', attributes: {} },
    'token_type',
  ],
];
for (const [path, body, field] of SPELLINGS) {
  test(`${path} of the broker with ${JSON.stringify(body)} is ${field ? `refused naming ${field}` : 'taken'}`, async () => {
    const answer = await root('POST', path, body);
    if (!field) return assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.status, 400, answer.text);
    const said = `{"name":"${field}","description":"This is given more than once."}`;
    assert.ok(answer.text.includes(said), answer.text);
  });
}

/** Within an object there is one spelling. */
const WITHIN: [path: string, body: object][] = [
  ['accounts', { auth_method_id: 'ampw_1', attributes: { login_name: 'ann', loginName: 'bob' } }],
  ['targets', { scope_id: 'p_1', type: 'tcp', attributes: { default_port: 1, defaultPort: 2 } }],
  [
    'targets',
    { scope_id: 'p_1', type: 'tcp', with_aliases: [{ scope_id: 'global', scopeId: 'p_1' }] },
  ],
];
for (const [path, body] of WITHIN) {
  test(`${path} of the broker takes no other spelling within ${JSON.stringify(body)}`, async () => {
    const answer = await root('POST', path, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /"(?:attributes|with_aliases)/);
  });
}

/** Sends headers as they are given, twice where they are given twice. */
function get(path: string, headers: [name: string, value: string][]): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = new URL(`${client.url}/v1/${path}`);
    const raw = ['Host', url.host, ...headers.flat()];
    const sent = request(url, { headers: raw }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end();
  });
}

const TOKENS: [headers: [string, string][], vault: number, boundary: number, why: string][] = [
  [[['X-Vault-Token', 'root']], 200, 200, 'one'],
  [[['Authorization', 'Bearer root']], 200, 200, 'the other'],
  [
    [
      ['X-Vault-Token', 'root'],
      ['Authorization', 'Bearer root'],
    ],
    200,
    200,
    'both alike',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['X-Vault-Token', 'root'],
    ],
    200,
    200,
    'one twice',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['Authorization', 'Basic eA=='],
    ],
    200,
    200,
    'no token beside it',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['Authorization', 'Bearer'],
    ],
    200,
    200,
    'nothing beside it',
  ],
  [
    [
      ['X-Vault-Token', ''],
      ['Authorization', 'bearer root'],
    ],
    200,
    200,
    'nothing before it',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['Authorization', `Bearer ${other}`],
    ],
    400,
    400,
    'two that differ',
  ],
  [
    [
      ['X-Vault-Token', other],
      ['Authorization', 'Bearer root'],
    ],
    400,
    400,
    'the other way around',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['X-Vault-Token', other],
    ],
    400,
    400,
    'two in one header',
  ],
  [
    [
      ['x-vault-token', 'root'],
      ['X-VAULT-TOKEN', other],
    ],
    400,
    400,
    'in any case',
  ],
  [
    [
      ['Authorization', 'Bearer root'],
      ['Authorization', `Bearer ${other}`],
    ],
    400,
    400,
    'likewise',
  ],
  [
    [
      ['X-Vault-Token', 'root'],
      ['X-Vault-Token', 'gibberish'],
    ],
    400,
    400,
    'one of them unknown',
  ],
  [[], 403, 401, 'none'],
];
for (const [headers, vault, boundary, why] of TOKENS) {
  test(`a request with the tokens ${JSON.stringify(headers)} is answered ${vault} and ${boundary}: ${why}`, async () => {
    assert.equal(await get('sys/mounts', headers), vault);
    assert.equal(await get('users?scope_id=global', headers), boundary);
  });
}

test('a namespace may be named twice, as long as it is the root one', async () => {
  const asked = (...namespaces: string[]) =>
    get('sys/mounts', [
      ['X-Vault-Token', 'root'],
      ...namespaces.map((each): [string, string] => ['X-Vault-Namespace', each]),
    ]);
  assert.equal(await asked('root', 'root'), 200);
  assert.equal(await asked('', 'root/'), 200);
  assert.equal(await asked('root', 'team'), 404);
  assert.equal(await asked('team', 'team'), 404);
});
