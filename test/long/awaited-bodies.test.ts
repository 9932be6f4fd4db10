// A body may come a minute after its head. What was judged by the head is judged again by then.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { headOf, openTalk } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** One that may do everything, until it may not. */
const policy = (more: string): string =>
  `path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }\n${more}`;
/** As long as what is let go of meanwhile. */
const LONG = Array.from(
  { length: 600 },
  (_, at) => `path "long/${at}/${'a'.repeat(30)}" { capabilities = ["read"] }`,
).join('\n');

interface Asked {
  path: string;
  body: object;
  accessor: string;
  entity: string;
}
type Ending = (client: Client, asked: Asked, text: string) => Promise<{ status: number }>;

const deny = (path: string): string => `path "${path}" { capabilities = ["deny"] }`;
const endings: [what: string, end: Ending, status: number][] = [
  ['nothing happens', async () => ({ status: 204 }), 200],
  [
    'the token is revoked',
    ({ call }, { accessor }) => call('POST', 'auth/token/revoke-accessor', { accessor }),
    403,
  ],
  [
    'its policy denies the path',
    ({ call }, { path }, text) => call('PUT', 'sys/policies/acl/p', { policy: text + deny(path) }),
    403,
  ],
  [
    'its policy denies another',
    ({ call }, _, text) => call('PUT', 'sys/policies/acl/p', { policy: text + deny('other') }),
    200,
  ],
  ['its policy is gone', ({ call }) => call('DELETE', 'sys/policies/acl/p'), 403],
  [
    'its entity is disabled',
    ({ call }, { entity }) => call('POST', `identity/entity/id/${entity}`, { disabled: true }),
    403,
  ],
];

async function setUp(client: Client): Promise<{ secret: string; victim: string; up: string }> {
  const { call } = client;
  await call('POST', 'sys/auth/up', { type: 'userpass' });
  await call('POST', 'sys/auth/ar', { type: 'approle' });
  await call('POST', 'auth/ar/role/x', { token_policies: ['default'] });
  const secret = (await call('POST', 'auth/ar/role/x/secret-id')).textAt('data.secret_id');
  const victim = (await call('POST', 'identity/entity', { name: 'victim' })).textAt('data.id');
  const mounts = await call('GET', 'sys/auth');
  return { secret, victim, up: mounts.textAt('data.up/.accessor') };
}

/** Somebody who logs in, and asks with all but the end of a body. */
async function ask(client: Client, path: string, body: object, up: string) {
  const { call } = client;
  await call('POST', 'auth/up/users/ann', { password: 'long enough', token_policies: ['p'] });
  const entity = (await call('POST', 'identity/entity', { name: 'ann' })).textAt('data.id');
  const alias = { name: 'ann', canonical_id: entity, mount_accessor: up };
  await call('POST', 'identity/entity-alias', alias);
  const login = await call('POST', 'auth/up/login/ann', { password: 'long enough' }, { token: '' });
  const talk = await openTalk(client, '127.0.0.1');
  const text = JSON.stringify(body);
  const token = login.textAt('auth.client_token');
  const fields = [`X-Vault-Token: ${token}`, `Content-Length: ${text.length}`];
  talk.socket.write(headOf(client, `POST /v1/${path}`, fields) + text.slice(0, -1));
  // Asked and answered after it.
  assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 200);
  const finish = async (): Promise<number> => {
    talk.socket.write(text.slice(-1));
    await talk.answers(1);
    talk.socket.destroy();
    return Number(talk.text().split(' ')[1]);
  };
  return { finish, asked: { path, body, accessor: login.textAt('auth.accessor'), entity } };
}

for (const [size, more] of [
  ['short', ''],
  ['long', LONG],
] as const) {
  describe(`what is read by a POST, asked with ${size} permissions`, () => {
    for (const [what, end, status] of endings) {
      test(`is answered ${status} where ${what} before its body has come`, async (t) => {
        const client = await startTestServer(t);
        const { secret, victim, up } = await setUp(client);
        const bodies: [path: string, body: object][] = [
          ['identity/lookup/entity', { id: victim }],
          ['auth/ar/role/x/secret-id/lookup', { secret_id: secret }],
        ];
        for (const [path, body] of bodies) {
          await client.call('PUT', 'sys/policies/acl/p', { policy: policy(more) });
          const { finish, asked } = await ask(client, path, body, up);
          const ended = await end(client, asked, policy(more));
          assert.ok(ended.status < 300, `${ended.status}`);
          assert.equal(await finish(), status, path);
          await client.call('DELETE', `identity/entity/id/${asked.entity}`);
        }
      });
    }

    test('is answered 404 where its mount is moved before its body has come', async (t) => {
      const client = await startTestServer(t);
      const { secret, up } = await setUp(client);
      await client.call('PUT', 'sys/policies/acl/p', { policy: policy(more) });
      const path = 'auth/ar/role/x/secret-id/lookup';
      const { finish } = await ask(client, path, { secret_id: secret }, up);
      const moved = await client.call('POST', 'sys/remount', { from: 'auth/ar', to: 'auth/away' });
      assert.equal(moved.status, 200, moved.text);
      assert.equal(await finish(), 404);
    });
  });
}
