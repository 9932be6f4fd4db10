// A token whose id somebody chose is another one once it is made anew: what the former one made or kept is not its own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workOf } from '../../src/access/leases/ending.operations.ts';
import { systemCaller } from '../../src/access/system-caller.ts';
import { tidyTokens } from '../../src/access/tokens/expiration.operations.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { startServerAt } from '../support/placed-server.ts';
import { callAs, must } from '../support/racing.ts';
import { type Client, startTestServer } from '../support/server.ts';

type Call = Client['call'];

interface Ended {
  id: string;
  accessor: string;
  wait(seconds: number): void;
}

const ID = 'ci-deploy';

const ENDINGS: [name: string, end: (call: Call, of: Ended) => unknown, fields?: object][] = [
  ['is revoked', (call, { id }) => must(call('POST', 'auth/token/revoke', { token: id }))],
  ['revokes itself', (call, { id }) => must(callAs(call, id)('POST', 'auth/token/revoke-self'))],
  [
    'is revoked by its accessor',
    (call, { accessor }) => must(call('POST', 'auth/token/revoke-accessor', { accessor })),
  ],
  [
    'is revoked alone',
    (call, { id }) => must(call('POST', 'auth/token/revoke-orphan', { token: id })),
  ],
  ['has run out', (_call, { wait }) => wait(61), { ttl: '1m' }],
];

const GOING_ON: [name: string, go: (call: Call, of: Ended) => unknown][] = [
  ['is renewed', (call, { id }) => must(call('POST', 'auth/token/renew', { token: id }))],
  ['is refused an id that it has', (call, { id }) => call('POST', 'auth/token/create', { id })],
  ['is used a day later', (_call, { wait }) => wait(86_400)],
];

eachPlace('a token with a chosen id', (newPlace) => {
  async function open(t: Parameters<typeof startServerAt>[0], fields: object = {}) {
    let ahead = 0;
    const client = await startServerAt(t, await newPlace(), { now: () => Date.now() + ahead });
    const { call, running } = client;
    const all = '{ capabilities = ["create", "read", "update", "list", "sudo"] }';
    await must(call('PUT', 'sys/policies/acl/strong', { policy: `path "*" ${all}` }));
    await must(call('PUT', 'sys/policies/acl/weak', { policy: 'path "x" {}' }));
    const make = (policy: string, more: object = {}) =>
      must(call('POST', 'auth/token/create', { id: ID, policies: [policy], ...more }));
    const made = await make('strong', fields);
    const child = async (type: string) => {
      const body = { type, ttl: '48h', policies: ['strong'] };
      const reply = await must(callAs(call, ID)('POST', 'auth/token/create', body));
      return reply.textAt('auth.client_token');
    };
    const mayRead = async (token: string) =>
      (await callAs(call, token)('GET', 'sys/policies/acl/strong')).status;
    const accessor = made.textAt('auth.accessor');
    const wait = (seconds: number): void => {
      ahead += seconds * 1000;
    };
    const tidy = () => tidyTokens(running.app, workOf(running.app, systemCaller('job', 'test')));
    return { call, make, child, mayRead, of: { id: ID, accessor, wait }, tidy };
  }

  for (const [name, end, fields] of ENDINGS) {
    test(`that ${name} and is made anew is no parent to earlier batch tokens`, async (t) => {
      const { call, make, child, mayRead, of, tidy } = await open(t, fields);
      const [batch, service] = [await child('batch'), await child('service')];
      await must(callAs(call, ID)('POST', 'cubbyhole/kept', { a: 'b' }));
      assert.equal(await mayRead(batch), 200);
      await end(call, of);
      assert.equal(await mayRead(batch), 403);
      const livesOn = await mayRead(service);
      await tidy();
      await make('weak');
      const statuses = await Promise.all([ID, batch, service].map(mayRead));
      assert.deepEqual(statuses, [403, 403, livesOn]);
      assert.equal((await callAs(call, ID)('GET', 'cubbyhole/kept')).status, 404);
      await must(call('POST', 'auth/token/revoke', { token: ID }));
      await tidy();
      await make('strong');
      assert.equal(await mayRead(await child('batch')), 200);
      assert.equal(await mayRead(batch), 403);
    });
  }

  for (const [name, go] of GOING_ON) {
    test(`that ${name} is the parent that it was`, async (t) => {
      const { call, child, mayRead, of } = await open(t, { ttl: '36h' });
      const batch = await child('batch');
      await go(call, of);
      assert.equal(await mayRead(batch), 200);
    });
  }
});

const WAITING: [made_anew: string, type: string, status: number][] = [
  ['itself', 'service', 403],
  ['the token above it', 'batch', 403],
  ['another', 'service', 204],
  ['another', 'batch', 204],
];

for (const [made_anew, type, status] of WAITING) {
  test(`what a ${type} token writes while ${made_anew} is made anew is answered ${status}`, async (t) => {
    const holder = new CommitHolder();
    const { call } = await startTestServer(t, { store: holder.over });
    const all = '{ capabilities = ["create", "read", "update", "sudo"] }';
    await must(call('PUT', 'sys/policies/acl/strong', { policy: `path "*" ${all}` }));
    const make = (id: string, policy: string) =>
      must(call('POST', 'auth/token/create', { id, policies: [policy] }));
    for (const id of [ID, 'another']) await make(id, 'strong');
    const body = { policies: ['strong'], type };
    const below = await must(callAs(call, ID)('POST', 'auth/token/create', body));
    const token = type === 'batch' ? below.textAt('auth.client_token') : ID;
    const path = 'sys/policies/acl/late';
    const policy = 'path "y" {}';
    const held = holder.hold(path);
    const late = callAs(call, token)('PUT', path, { policy });
    await held.reached;
    const anew = made_anew === 'another' ? 'another' : ID;
    await must(call('POST', 'auth/token/revoke', { token: anew }))
      .then(() => make(anew, 'default'))
      .finally(held.letGo);
    assert.equal((await late).status, status, (await late).text);
  });
}

test('the record of what is written by a token that is made anew names that one', async (t) => {
  const holder = new CommitHolder();
  const { call, running } = await startTestServer(t, { store: holder.over });
  const all = '{ capabilities = ["create", "read", "update", "sudo"] }';
  for (const name of ['before', 'after']) {
    await must(call('PUT', `sys/policies/acl/${name}`, { policy: `path "*" ${all}` }));
  }
  const make = (policy: string) =>
    must(call('POST', 'auth/token/create', { id: ID, policies: [policy] }));
  await make('before');
  const path = 'sys/policies/acl/late';
  const held = holder.hold(path);
  const late = callAs(call, ID)('PUT', path, { policy: 'path "y" {}' });
  await held.reached;
  const anew = await must(call('POST', 'auth/token/revoke', { token: ID }))
    .then(() => make('after'))
    // By which the request is judged again.
    .then(async (made) => {
      await must(call('PUT', 'sys/policies/acl/other', { policy: 'path "x" {}' }));
      return made;
    })
    .finally(held.letGo);
  assert.equal((await late).status, 204, (await late).text);
  const rows = await running.app.db.selectFrom('audit_entry').select('record').execute();
  const records = rows.map(({ record }) => JSON.parse(record));
  const { auth } = records.find(({ request }) => request?.path === path);
  assert.deepEqual(
    [auth.accessor, auth.policies],
    [anew.textAt('auth.accessor'), ['default', 'after'].toSorted()],
  );
});
