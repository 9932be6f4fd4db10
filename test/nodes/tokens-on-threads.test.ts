// Requests about tokens, policies and the server that any of several threads answers; what is exact stays so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace, type Place } from '../support/engines.ts';
import { CONNECTIONS, Everywhere, watchHandedOn } from '../support/everywhere.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';
import { type Scope, sharedStart } from '../support/shared-start.ts';

async function start(scope: Scope, place: Place) {
  const client = await startTestServer(scope, {
    config: { threads: 4, storage: storageOf(place) },
    jobs: [],
  });
  await client.call('POST', 'sys/policies/acl/tokens', {
    policy: 'path "auth/token/*" { capabilities = ["create", "read", "update", "list", "sudo"] }',
  });
  return { ...client, everywhere: new Everywhere(scope, client) };
}

eachPlace('tokens on several threads', (newPlace) => {
  const shared = sharedStart(newPlace, start);
  const newToken = async (body: object = {}): Promise<string> => {
    const { call } = await shared();
    const made = await call('POST', 'auth/token/create', { policies: ['tokens'], ...body });
    return made.textAt('auth.client_token');
  };

  test('any of them answers what needs nothing that is in one place', async () => {
    const { running, everywhere } = await shared();
    const token = await newToken();
    const handed = watchHandedOn(running.app);
    const cases: [method: string, path: string, body: object | undefined, handedOn: string][] = [
      ['GET', 'auth/token/lookup-self', undefined, ''],
      ['POST', 'auth/token/lookup', { token }, ''],
      ['POST', 'auth/token/renew-self', {}, ''],
      ['POST', 'auth/token/create', {}, ''],
      ['GET', 'auth/token/accessors?list=true', undefined, ''],
      ['POST', 'sys/capabilities-self', { paths: ['pki/issue/web'] }, ''],
      ['GET', 'sys/policies/acl/tokens', undefined, ''],
      ['GET', 'sys/policies/acl?list=true', undefined, ''],
      ['GET', 'sys/mounts/cubbyhole', undefined, ''],
      ['GET', 'sys/health', undefined, ''],
      ['GET', 'sys/seal-status', undefined, ''],
      ['GET', 'sys/leader', undefined, ''],
      ['GET', 'sys/key-status', undefined, ''],
      // What only one ends.
      ['POST', 'auth/token/revoke', { token }, 'token-revoke'],
    ];
    for (const [method, path, body, route] of cases) {
      handed.length = 0;
      const statuses = await everywhere.statuses(method, path, body, await rootOr(path, newToken));
      assert.ok(statuses[0] === 200 || statuses[0] === 204, `${path}: ${statuses}`);
      assert.deepEqual([...new Set(handed)], route === '' ? [] : [route], path);
    }
  });

  test('a token that is good for so many requests is good for so many on all of them together', async () => {
    const { everywhere } = await shared();
    for (const [method, path] of [
      ['GET', 'auth/token/lookup-self'],
      ['POST', 'auth/token/renew-self'],
      ['POST', 'auth/token/create'],
    ] as const) {
      const token = await newToken({ num_uses: 7, ttl: '1h' });
      const body = method === 'GET' ? undefined : {};
      const answered = await everywhere.ask(method, path, body, token);
      const good = answered.filter(({ status }) => status !== 403);
      assert.equal(good.length, 7, path);
    }
  });

  test('a look-up says how many uses are left, each a number of its own', async () => {
    const { everywhere } = await shared();
    const token = await newToken({ num_uses: CONNECTIONS });
    const answered = await everywhere.ask('GET', 'auth/token/lookup-self', undefined, token);
    for (const { status } of answered) assert.equal(status, 200);
    assert.deepEqual(
      await everywhere.statuses('GET', 'auth/token/lookup-self', undefined, token),
      [403],
    );
  });

  test('of renewals of one token by all of them none is refused', async () => {
    const { everywhere } = await shared();
    const token = await newToken({ ttl: '1h' });
    for (let round = 0; round < 3; round += 1) {
      const body = { increment: `${round + 2}h` };
      assert.deepEqual(
        await everywhere.statuses('POST', 'auth/token/renew-self', body, token),
        [200],
      );
    }
    const seen = await everywhere.ask('GET', 'auth/token/lookup-self', undefined, token);
    const ttls = new Set(seen.map(({ body }) => Math.round(JSON.parse(body).data.ttl / 60)));
    assert.deepEqual([...ttls], [240]);
  });

  test('a token that is revoked is none on any of them, nor what it was made by', async () => {
    const { everywhere, call } = await shared();
    for (let round = 0; round < 3; round += 1) {
      const parent = await newToken();
      const made = await everywhere.ask('POST', 'auth/token/create', {}, parent);
      const [child] = made.map(({ body }) => String(JSON.parse(body).auth.client_token));
      const lookUp = (token = '') =>
        everywhere.statuses('GET', 'auth/token/lookup-self', undefined, token);
      assert.deepEqual(await lookUp(parent), [200]);
      assert.deepEqual(await lookUp(child), [200]);
      assert.equal((await call('POST', 'auth/token/revoke', { token: parent })).status, 204);
      assert.deepEqual(await lookUp(parent), [403]);
      assert.deepEqual(await lookUp(child), [403]);
      assert.deepEqual(await everywhere.statuses('POST', 'auth/token/create', {}, parent), [403]);
    }
  });

  test('what a policy says by now is what capabilities are, and what is shown', async () => {
    const { everywhere, call } = await shared();
    const token = await newToken({ policies: ['changing'] });
    for (const capability of ['read', 'deny', 'list']) {
      const policy = `path "pki/roles/*" { capabilities = ["${capability}"] }`;
      await call('POST', 'sys/policies/acl/changing', { policy });
      const asked = { paths: ['pki/roles/web'] };
      for (const { body } of await everywhere.ask('POST', 'sys/capabilities-self', asked, token)) {
        assert.deepEqual(JSON.parse(body).capabilities, [capability]);
      }
      for (const { body } of await everywhere.ask('GET', 'sys/policies/acl/changing')) {
        assert.equal(JSON.parse(body).data.policy, policy);
      }
    }
  });

  test('how many values were sealed is told of all of them together', async () => {
    const { call } = await shared();
    const before = Number((await call('GET', 'sys/key-status')).field('data.encryptions'));
    // What is wrapped is sealed where it is answered.
    const headers = { 'x-vault-wrap-ttl': '60s' };
    for (let round = 0; round < 20; round += 1) {
      await call('GET', 'auth/token/lookup-self', undefined, { headers });
    }
    const sealed = Number((await call('GET', 'sys/key-status')).field('data.encryptions'));
    assert.ok(sealed - before >= 20, `${sealed - before}`);
  });

  test('a server that is sealed says so whoever is asked', async () => {
    const { everywhere, call } = await shared();
    assert.equal((await call('PUT', 'sys/seal')).status, 204);
    for (const { status, body } of await everywhere.ask('GET', 'sys/seal-status')) {
      assert.equal(status, 200);
      assert.equal(JSON.parse(body).sealed, true);
    }
    assert.deepEqual(await everywhere.statuses('GET', 'sys/health'), [503]);
    assert.deepEqual(await everywhere.statuses('GET', 'auth/token/lookup-self'), [503]);
  });
});

/** Endpoints of the server itself are asked as root, those of tokens by a token of one's own. */
async function rootOr(path: string, newToken: () => Promise<string>): Promise<string> {
  return path.startsWith('auth/token/') && !path.endsWith('revoke') ? newToken() : 'root';
}
