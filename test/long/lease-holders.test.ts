// A lease ends with the token that asked for it, whatever that is and however it ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workOf } from '../../src/access/leases/ending.operations.ts';
import { endDueLeases } from '../../src/access/leases/expiration.operations.ts';
import { systemCaller } from '../../src/access/system-caller.ts';
import { tidyTokens } from '../../src/access/tokens/expiration.operations.ts';
import { eachPlace } from '../support/engines.ts';
import { startServerAt } from '../support/placed-server.ts';
import { callAs, must } from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

type Call = Client['call'];

interface Held {
  token: string;
  /** Ends the token; `wait` lets seconds go by. */
  end(call: Call, wait: (seconds: number) => void): Promise<unknown>;
}

interface Case {
  name: string;
  hold(call: Call): Promise<Held>;
  /** Only the job ends it. */
  late?: true;
}

const remove = (path: string) => (call: Call) => must(call('DELETE', path));
const revoke = (token: string) => (call: Call) =>
  must(call('POST', 'auth/token/revoke', { token }));
const runOut = async (_call: Call, wait: (seconds: number) => void) => wait(1801);

const newToken = async (call: Call, body: object = {}, path = 'auth/token/create') =>
  (await must(call('POST', path, { policies: ['issuer'], ttl: '30m', ...body }))).textAt(
    'auth.client_token',
  );

/** Made from a token that has what it takes. */
async function child(call: Call, body: object): Promise<{ parent: string; token: string }> {
  const parent = await newToken(call);
  const made = await must(callAs(call, parent)('POST', 'auth/token/create', body));
  return { parent, token: made.textAt('auth.client_token') };
}

async function logIn(call: Call, token_type: string): Promise<Reply> {
  await must(call('POST', 'sys/auth/up', { type: 'userpass' }));
  const user = { password: 'correct horse', token_policies: ['issuer'], token_ttl: '30m' };
  await must(call('POST', 'auth/up/users/ann', { ...user, token_type }));
  const body = { password: 'correct horse' };
  return must(call('POST', 'auth/up/login/ann', body, { token: '' }));
}

async function machine(call: Call): Promise<string> {
  await must(call('POST', 'sys/auth/ar', { type: 'approle' }));
  const role = { token_policies: ['issuer'], token_ttl: '30m', token_type: 'batch' };
  await must(
    call('POST', 'auth/ar/role/web', {
      ...role,
      bind_secret_id: false,
      token_bound_cidrs: ['127.0.0.0/8'],
    }),
  );
  const role_id = (await must(call('GET', 'auth/ar/role/web/role-id'))).textAt('data.role_id');
  return (await must(call('POST', 'auth/ar/login', { role_id }, { token: '' }))).textAt(
    'auth.client_token',
  );
}

type LogInEnd = (entity_id: string, alias_id: string) => Held['end'];

const LOG_INS: readonly [name: string, end: LogInEnd, late?: true][] = [
  ['its time', () => runOut],
  ['its mount', () => remove('sys/auth/up')],
  ['its user', () => remove('auth/up/users/ann')],
  ['its alias', (_, alias) => remove(`identity/entity-alias/id/${alias}`)],
  [
    "its alias, by now somebody else's",
    (_, alias) => async (call) => {
      const other = await must(call('POST', 'identity/entity', {}));
      const canonical_id = other.textAt('data.id');
      await must(call('POST', `identity/entity-alias/id/${alias}`, { canonical_id }));
    },
  ],
];

const logIns = (['service', 'batch'] as const).flatMap((type) =>
  LOG_INS.map(
    ([ending, end]): Case => ({
      name: `a ${type} token of a log-in: ${ending}`,
      async hold(call) {
        const made = await logIn(call, type);
        const entity = made.textAt('auth.entity_id');
        const read = await must(call('GET', `identity/entity/id/${entity}`));
        const [alias] = read.field('data.aliases') as { id: string }[];
        return { token: made.textAt('auth.client_token'), end: end(entity, alias?.id ?? '') };
      },
    }),
  ),
);

const CASES: readonly Case[] = [
  ...logIns,
  {
    name: 'a batch token of a log-in: its entity',
    async hold(call) {
      const made = await logIn(call, 'batch');
      const end = remove(`identity/entity/id/${made.textAt('auth.entity_id')}`);
      return { token: made.textAt('auth.client_token'), end };
    },
  },
  {
    name: "a machine's batch token: its role",
    hold: async (call) => ({ token: await machine(call), end: remove('auth/ar/role/web') }),
  },
  {
    name: 'a token: revoked',
    async hold(call) {
      const token = await newToken(call);
      return { token, end: revoke(token) };
    },
  },
  {
    name: 'a token: its time',
    hold: async (call) => ({ token: await newToken(call), end: runOut }),
  },
  {
    name: 'a batch token without parent: its time',
    async hold(call) {
      const token = await newToken(call, { type: 'batch' }, 'auth/token/create-orphan');
      return { token, end: runOut };
    },
  },
  {
    name: 'a batch token below another: its time',
    async hold(call) {
      const { token } = await child(call, { type: 'batch', ttl: '10m' });
      return { token, end: async (_call, wait) => wait(601) };
    },
  },
  ...(['service', 'batch'] as const).map(
    (type): Case => ({
      name: `a ${type} token below another: that one, revoked`,
      async hold(call) {
        const { parent, token } = await child(call, { type });
        return { token, end: revoke(parent) };
      },
    }),
  ),
  {
    name: 'a counted token without an end: its last use',
    late: true,
    async hold(call) {
      const made = await must(
        call('POST', 'auth/token/create', { policies: ['issuer', 'root'], num_uses: 2 }),
      );
      const token = made.textAt('auth.client_token');
      assert.equal(made.field('auth.lease_duration'), 0, made.text);
      return {
        token,
        async end(_call, wait) {
          await must(callAs(call, token)('GET', 'auth/token/lookup-self'));
          wait(61);
        },
      };
    },
  },
];

eachPlace('the lease of what asked for it', (newPlace) => {
  for (const { name, hold, late } of CASES) {
    test(name, async (t) => {
      let ahead = 0;
      const client = await startServerAt(t, await newPlace(), { now: () => Date.now() + ahead });
      const { call } = client;
      await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
      const ca = { common_name: 'R', key_type: 'ec', ttl: '8000h' };
      await must(call('POST', 'pki/root/generate/internal', ca));
      const role = { allow_any_name: true, key_type: 'ec', ttl: '72h', generate_lease: true };
      await must(call('POST', 'pki/roles/web', role));
      const all = '{ capabilities = ["create", "read", "update"] }';
      const policy = `path "pki/*" ${all}\npath "auth/token/*" ${all}`;
      await must(call('PUT', 'sys/policies/acl/issuer', { policy }));
      const issue = (by: Call) => must(by('POST', 'pki/issue/web', { common_name: 'a.test' }));
      const isAlive = async (made: Reply) => {
        const lease_id = made.textAt('lease_id');
        return (await call('PUT', 'sys/leases/lookup', { lease_id })).status === 200;
      };

      const unrelated = await issue(call);
      const held = await hold(call);
      const made = await issue(callAs(call, held.token) as Call);
      assert.equal(await isAlive(made), true);
      await held.end(call, (seconds) => {
        ahead += seconds * 1000;
      });
      if (!late) assert.equal(await isAlive(made), false, 'dead at once');
      const { app } = client.running;
      const work = workOf(app, systemCaller('job', 'test'));
      await tidyTokens(app, work);
      await endDueLeases(app, work);
      assert.equal(await isAlive(made), false);
      const read = await must(call('GET', `pki/cert/${made.textAt('data.serial_number')}`));
      assert.notEqual(read.field('data.revocation_time'), 0);
      assert.equal(await isAlive(unrelated), true);
    });
  }
});

test('what has a lease is not made with the last use of a token, what has none is', async (t) => {
  const { call } = await startTestServer(t);
  await must(call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' }));
  const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
  await must(call('POST', 'demo/roles/leased', { ...role, generate_lease: true }));
  await must(call('POST', 'demo/roles/plain', role));
  const body = { common_name: 'a.test' };
  for (const [name, status] of [
    ['leased', 400],
    ['plain', 200],
  ] as const) {
    const token = await newToken(call, { policies: ['root'], num_uses: 1, ttl: 0 });
    const made = await callAs(call, token)('POST', `demo/issue/${name}`, body);
    assert.equal(made.status, status, made.text);
    assert.equal((await callAs(call, token)('GET', 'auth/token/lookup-self')).status, 403);
  }
  assert.equal((await call('LIST', 'sys/leases/lookup/')).status, 404, 'none was made');
});

test('a renewal by its last use gives a token no longer life', async (t) => {
  const { call } = await startTestServer(t);
  const body = { policies: ['default'], num_uses: 1, ttl: '1m' };
  const made = await must(call('POST', 'auth/token/create', body));
  const own = callAs(call, made.textAt('auth.client_token'));
  assert.equal((await own('POST', 'auth/token/renew-self', { increment: '30m' })).status, 400);
});
