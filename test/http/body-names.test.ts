// What a body names has a path of its own as well: a denial there is a denial here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deny, personWith } from '../support/denied.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';

interface Things {
  denied: string;
  other: string;
}

/** What is asked for of a thing, and where that is denied; each is granted for another thing. */
const REQUESTS: [
  what: string,
  make: (client: Client) => Promise<Things>,
  deniedAt: (id: string) => string,
  request: (id: string) => [method: string, path: string, body: object],
][] = [
  [
    'entities that are deleted together',
    (client) => makeTwo(client, 'identity/entity'),
    (id) => `identity/entity/id/${id}`,
    (id) => ['POST', 'identity/entity/batch-delete', { entity_ids: [id] }],
  ],
  [
    'an entity by the id in the body',
    (client) => makeTwo(client, 'identity/entity'),
    (id) => `identity/entity/id/${id}`,
    (id) => ['POST', 'identity/entity', { id, metadata: { a: 'b' } }],
  ],
  [
    'an entity by the name in the body, in any letters',
    async () => ({ denied: 'Boss', other: 'clerk' }),
    (name) => `identity/entity/name/${name}`,
    (name) => ['POST', 'identity/entity', { name: name.toUpperCase() }],
  ],
  [
    'a group by the id in the body',
    (client) => makeTwo(client, 'identity/group'),
    (id) => `identity/group/id/${id}`,
    (id) => ['POST', 'identity/group', { id, metadata: { a: 'b' } }],
  ],
  [
    'a group by the name in the body',
    async () => ({ denied: 'admins', other: 'others' }),
    (name) => `identity/group/name/${name}`,
    (name) => ['POST', 'identity/group', { name }],
  ],
  [
    'a lease in the body',
    async () => ({ denied: 'demo/issue/a/1', other: 'demo/issue/b/1' }),
    (id) => `sys/leases/revoke/${id}`,
    (lease_id) => ['POST', 'sys/leases/revoke', { lease_id }],
  ],
  [
    'a lease in the body, denied at the path of old',
    async () => ({ denied: 'demo/issue/a/1', other: 'demo/issue/b/1' }),
    (id) => `sys/revoke/${id}`,
    (lease_id) => ['POST', 'sys/leases/revoke', { lease_id }],
  ],
  [
    'leases beneath a path, denied at the path of old',
    async () => ({ denied: 'demo/issue/a', other: 'demo/issue/b' }),
    (prefix) => `sys/revoke-prefix/${prefix}`,
    (prefix) => ['POST', `sys/leases/revoke-prefix/${prefix}`, {}],
  ],
  [
    'a mount that moves away',
    async (client) => {
      for (const name of ['here', 'there']) {
        await client.call('POST', `sys/mounts/${name}`, { type: 'pki' });
      }
      return { denied: 'here', other: 'there' };
    },
    (path) => `sys/mounts/${path}`,
    (from) => ['POST', 'sys/remount', { from, to: `moved-${from}` }],
  ],
  [
    'a mount that moves to a path',
    async (client) => {
      for (const name of ['from-taken', 'from-free']) {
        await client.call('POST', `sys/mounts/${name}`, { type: 'pki' });
      }
      return { denied: 'taken', other: 'free' };
    },
    (path) => `sys/mounts/${path}`,
    (to) => ['POST', 'sys/remount', { from: `from-${to}`, to }],
  ],
  [
    'a way to log in that moves',
    async (client) => {
      for (const name of ['one', 'two']) {
        await client.call('POST', `sys/auth/${name}`, { type: 'userpass' });
      }
      return { denied: 'auth/one', other: 'auth/two' };
    },
    (path) => `sys/${path}`,
    (from) => ['POST', 'sys/remount', { from, to: `${from}-moved` }],
  ],
];

async function makeTwo(client: Client, path: string): Promise<Things> {
  const make = async (): Promise<string> =>
    (await client.call('POST', path, { policies: [] })).textAt('data.id');
  return { denied: await make(), other: await make() };
}

test('what a body names is denied where its own path is, and no other', async (t) => {
  const client = await startTestServer(t);
  for (const [at, [what, make, deniedAt, request]] of REQUESTS.entries()) {
    const { denied, other } = await make(client);
    assert.notEqual(denied, other, what);
    const ask = await personWith(client, `but-${at}`, deny(deniedAt(denied)));
    assert.equal(await ask(...request(denied)), 403, what);
    const status = await ask(...request(other));
    assert.ok(status < 300, `${what}: ${status}`);
  }
});

test('a lease that is looked up or renewed is denied where its own path is, and no other', async (t) => {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/mounts/demo', { type: 'pki' });
  await client.call('POST', 'demo/root/generate/internal', { common_name: 'x', key_type: 'ec' });
  const role = { allow_any_name: true, generate_lease: true, ttl: '1h' };
  await client.call('POST', 'demo/roles/web', role);
  const issue = async () =>
    (await client.call('POST', 'demo/issue/web', { common_name: 'a.test' })).textAt('lease_id');
  const [denied, other] = [await issue(), await issue()];
  assert.match(denied, /^demo\/issue\/web\//);
  for (const [action, path, found] of [
    ['lookup', 'sys/leases/lookup', 200],
    ['renew', 'sys/leases/renew', 400],
    ['renew', 'sys/renew', 400],
  ] as const) {
    const ask = await personWith(client, action, deny(`sys/leases/${action}/${denied}`));
    assert.equal(await ask('POST', path, { lease_id: denied }), 403, path);
    assert.equal(await ask('POST', path, { lease_id: other }), found, path);
  }
});

test('deleting entities together needs what deleting each of them needs', async (t) => {
  const client = await startTestServer(t);
  const { denied: one, other } = await makeTwo(client, 'identity/entity');
  const grant = (path: string, capabilities: string) =>
    `path "${path}" { capabilities = [${capabilities}] }`;
  const policies: [name: string, status: number, policy: string][] = [
    ['edits', 403, grant('identity/entity/*', '"update"')],
    [
      'deletes-one',
      403,
      `${grant('identity/entity/batch-delete', '"update"')}\n${grant(`identity/entity/id/${one}`, '"delete"')}`,
    ],
    ['deletes', 204, grant('identity/entity/*', '"update","delete"')],
  ];
  for (const [name, status, policy] of policies) {
    await client.call('PUT', `sys/policies/acl/${name}`, { policy });
    const made = await client.call('POST', 'auth/token/create', { policies: [name] });
    const token = made.textAt('auth.client_token');
    const body = { entity_ids: [one, other] };
    const reply = await client.call('POST', 'identity/entity/batch-delete', body, { token });
    assert.equal(reply.status, status, `${name}: ${reply.text}`);
    const left = await client.call('GET', `identity/entity/id/${one}`);
    assert.equal(left.status, status === 403 ? 200 : 404, name);
  }
});

eachPlace('a denial that comes while entities are about to be deleted', (newPlace) => {
  test('keeps all of them', async (t) => {
    const holder = new CommitHolder();
    const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
    const { denied, other } = await makeTwo(client, 'identity/entity');
    const ask = await personWith(client, 'but', '');
    const held = holder.hold('identity/entity/batch-delete');
    const asked = ask('POST', 'identity/entity/batch-delete', { entity_ids: [other, denied] });
    await Promise.race([held.reached, asked]);
    const narrowed = personWith(client, 'but', deny(`identity/entity/id/${denied}`));
    await narrowed.finally(held.letGo);
    assert.equal(await asked, 403);
    for (const id of [denied, other]) {
      assert.equal((await client.call('GET', `identity/entity/id/${id}`)).status, 200);
    }
  });
});
