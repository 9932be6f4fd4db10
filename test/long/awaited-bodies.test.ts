// A body may come a minute after its head. What was judged by the head is judged again by then.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { eachPlace, type Place } from '../support/engines.ts';
import { headOf, openTalk } from '../support/raw-talk.ts';
import { AUTH_METHOD, startBroker, storageOf } from '../support/seeded-broker.ts';
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

const startOn = (t: TestContext, place: Place): Promise<Client> =>
  startTestServer(t, { config: { storage: storageOf(place) } });

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

/** Asks with all but the end of a body. @returns sends that, and waits for the answer */
async function begin(client: Client, path: string, body: object, token: string) {
  const talk = await openTalk(client, '127.0.0.1');
  const text = JSON.stringify(body);
  const own = token === '' ? [] : [`X-Vault-Token: ${token}`];
  const head = headOf(client, `POST /v1/${path}`, [...own, `Content-Length: ${text.length}`]);
  talk.socket.write(head + text.slice(0, -1));
  const finish = async (): Promise<{ status: number; text: string }> => {
    talk.socket.write(text.slice(-1));
    await talk.answers(1);
    talk.socket.end();
    const told = await talk.closed;
    return { status: Number(told.split(' ')[1]), text: told };
  };
  return { finish };
}

/** Asked and answered after what was begun before. */
async function settle({ call }: Client, token?: string): Promise<void> {
  const own = await call('GET', 'auth/token/lookup-self', undefined, token ? { token } : {});
  assert.equal(own.status, 200);
}

/** Somebody who logs in, and asks with all but the end of a body. */
async function ask(client: Client, path: string, body: object, up: string) {
  const { call } = client;
  await call('POST', 'auth/up/users/ann', { password: 'long enough', token_policies: ['p'] });
  const entity = (await call('POST', 'identity/entity', { name: 'ann' })).textAt('data.id');
  const alias = { name: 'ann', canonical_id: entity, mount_accessor: up };
  await call('POST', 'identity/entity-alias', alias);
  const login = await call('POST', 'auth/up/login/ann', { password: 'long enough' }, { token: '' });
  const token = login.textAt('auth.client_token');
  const begun = await begin(client, path, body, token);
  const accessor = login.textAt('auth.accessor');
  return { ...begun, token, asked: { path, body, accessor, entity } };
}

eachPlace('bodies that are awaited', (newPlace) => {
  for (const [size, more] of [
    ['short', ''],
    ['long', LONG],
  ] as const) {
    describe(`what is read by a POST, asked with ${size} permissions`, () => {
      for (const [what, end, status] of endings) {
        test(`is answered ${status} where ${what} before its body has come`, async (t) => {
          const client = await startOn(t, await newPlace());
          const { secret, victim, up } = await setUp(client);
          const bodies: [path: string, body: object][] = [
            ['identity/lookup/entity', { id: victim }],
            ['auth/ar/role/x/secret-id/lookup', { secret_id: secret }],
          ];
          for (const [path, body] of bodies) {
            await client.call('PUT', 'sys/policies/acl/p', { policy: policy(more) });
            const { finish, token, asked } = await ask(client, path, body, up);
            await settle(client, token);
            const ended = await end(client, asked, policy(more));
            assert.ok(ended.status < 300, `${ended.status}`);
            assert.equal((await finish()).status, status, path);
            await client.call('DELETE', `identity/entity/id/${asked.entity}`);
          }
        });
      }

      test('is answered 404 where its mount is moved before its body has come', async (t) => {
        const client = await startOn(t, await newPlace());
        const { secret, up } = await setUp(client);
        await client.call('PUT', 'sys/policies/acl/p', { policy: policy(more) });
        const path = 'auth/ar/role/x/secret-id/lookup';
        const { finish, token } = await ask(client, path, { secret_id: secret }, up);
        await settle(client, token);
        const away = { from: 'auth/ar', to: 'auth/away' };
        const moved = await client.call('POST', 'sys/remount', away);
        assert.equal(moved.status, 200, moved.text);
        assert.equal((await finish()).status, 404);
      });
    });
  }

  test('a request goes by its mount as it is tuned before its body has come', async (t) => {
    const client = await startOn(t, await newPlace());
    const { call } = client;
    await call('POST', 'sys/mounts/ssh', { type: 'ssh', config: { max_lease_ttl: '100h' } });
    await call('POST', 'ssh/config/ca', { key_type: 'ed25519' });
    const role = { key_type: 'ca', allow_user_certificates: true, allowed_users: '*' };
    await call('POST', 'ssh/roles/r', role);
    const wanted = { ttl: '50h', valid_principals: 'ann', key_type: 'ed25519' };
    const usual = await begin(client, 'ssh/issue/r', wanted, 'root');
    assert.equal((await usual.finish()).status, 200);
    const { finish } = await begin(client, 'ssh/issue/r', wanted, 'root');
    await settle(client);
    await call('POST', 'sys/mounts/ssh/tune', { max_lease_ttl: '1h' });
    const late = await finish();
    const after = await call('POST', 'ssh/issue/r', wanted);
    assert.equal(late.status, after.status, late.text);
    assert.equal(after.status, 400);
    assert.ok(late.text.includes(after.text), `${late.text} ${after.text}`);
  });

  test('what nobody in particular may do is judged again, too', async (t) => {
    const { client, admin } = await startBroker(t, { place: await newPlace() });
    const path = `auth-methods/${AUTH_METHOD}:authenticate`;
    const wrong = { attributes: { login_name: 'admin', password: 'another one' } };
    const usual = await client.call('POST', path, wrong, { token: '' });
    const { finish } = await begin(client, path, wrong, '');
    await settle(client);
    const roles = Object((await admin('GET', 'roles?scope_id=global')).field('items'));
    for (const { id } of roles) {
      const role = await admin('GET', `roles/${id}`);
      if (!role.text.includes('u_anon')) continue;
      const nothing = { version: role.field('version'), grant_strings: [] };
      const taken = await admin('POST', `roles/${id}:set-grants`, nothing);
      assert.equal(taken.status, 200, taken.text);
    }
    const late = await finish();
    const after = await client.call('POST', path, wrong, { token: '' });
    assert.notEqual(after.text, usual.text);
    assert.ok(late.text.includes(after.text), `${late.text} ${after.text} ${usual.text}`);
  });
});
