// What log-ins answer, and from where their tokens may be used.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, test } from 'node:test';
import { storePoliciesOfGroup } from '../support/older-group.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const server = await startTestServer({ after });
const { call } = server;
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
await ok(call('POST', 'sys/auth/up', { type: 'userpass' }));
await ok(call('POST', 'sys/auth/ar', { type: 'approle' }));

const password = 'correct horse';

async function userpass(name: string, settings: object) {
  await ok(call('POST', `auth/up/users/${name}`, { password, ...settings }));
  return {
    right: () => call('POST', `auth/up/login/${name}`, { password }, { token: '' }),
    wrong: () => call('POST', `auth/up/login/${name}`, { password: 'battery' }, { token: '' }),
  };
}

async function approle(name: string, settings: object) {
  await ok(call('POST', `auth/ar/role/${name}`, settings));
  const role_id = (await ok(call('GET', `auth/ar/role/${name}/role-id`))).textAt('data.role_id');
  const made = await ok(call('POST', `auth/ar/role/${name}/secret-id`, {}));
  const secret_id = made.textAt('data.secret_id');
  return {
    right: () => call('POST', 'auth/ar/login', { role_id, secret_id }, { token: '' }),
    wrong: () => call('POST', 'auth/ar/login', { role_id, secret_id: 'x' }, { token: '' }),
  };
}

const methods = { userpass, approle };

/** The status of a request that comes from one of this machine's own addresses. */
function statusFrom(localAddress: string, token: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const url = new URL('/v1/auth/token/lookup-self', server.url);
  const headers = { 'x-vault-token': token };
  const sent = request(url, { localAddress, headers, family: 4, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  sent.on('error', reject).end();
  return promise;
}

for (const [method, open] of Object.entries(methods)) {
  for (const token_type of ['service', 'batch']) {
    test(`${method}: a ${token_type} token that is strictly bound is used from where it was logged in alone`, async () => {
      const settings = {
        token_strictly_bind_ip: true,
        token_type,
        token_bound_cidrs: '127.0.0.0/8',
      };
      const { right } = await open(`strict-${token_type}`, settings);
      const token = (await ok(right())).textAt('auth.client_token');
      assert.equal(await statusFrom('127.0.0.1', token), 200);
      assert.equal(await statusFrom('127.0.0.2', token), 403);
      const self = await ok(call('GET', 'auth/token/lookup-self', undefined, { token }));
      assert.deepEqual(self.field('data.bound_cidrs'), ['127.0.0.1']);
    });
  }

  test(`${method}: a token that is not strictly bound is used from wherever its account says`, async () => {
    const { right } = await open('loose', { token_bound_cidrs: '127.0.0.0/8' });
    const token = (await ok(right())).textAt('auth.client_token');
    assert.equal(await statusFrom('127.0.0.2', token), 200);
  });

  test(`${method}: whose entity is disabled is told what is told of wrong words, also with right ones`, async () => {
    const { right, wrong } = await open('off', {});
    const id = (await ok(right())).textAt('auth.entity_id');
    await ok(call('POST', `identity/entity/id/${id}`, { disabled: true }));
    const refused = [await right(), await wrong()];
    assert.equal(refused[0]?.status, 400);
    assert.equal(refused[1]?.status, 400);
    assert.deepEqual(refused[0]?.field('errors'), refused[1]?.field('errors'));
    if (method === 'userpass') {
      // A lock that does not come would tell as much.
      for (let at = 0; at < 4; at += 1) await right();
      const { text } = await ok(call('GET', 'sys/locked-users'));
      assert.match(text, /"off"/, text);
      const accessor = (await ok(call('GET', 'sys/auth/up'))).textAt('data.accessor');
      await ok(call('POST', `sys/locked-users/${accessor}/unlock/off`));
    }
    await ok(call('POST', `identity/entity/id/${id}`, { disabled: false }));
    assert.equal((await right()).status, 200);
  });

  test(`${method}: whoever has more policies than are read is told the same`, async () => {
    const { right, wrong } = await open('many', {});
    const id = (await ok(right())).textAt('auth.entity_id');
    const name = `many-${method}`;
    await ok(call('POST', 'identity/group', { name, member_entity_ids: [id] }));
    const policies = Array.from({ length: 1001 }, (_, at) => `a${at}`);
    await storePoliciesOfGroup(server.running.app, name, policies);
    assert.equal((await right()).status, 400);
    assert.deepEqual((await right()).field('errors'), (await wrong()).field('errors'));
  });
}

const names: [path: string, status: number, why: string][] = [
  ['boss', 204, 'a plain name'],
  ['a%20b', 204, 'a blank within it'],
  ['%20boss', 400, 'a blank before it'],
  ['boss%20', 400, 'a blank behind it'],
  ['boss%C2%A0', 400, 'another kind of blank'],
  ['%E3%80%80boss', 400, 'a wide blank'],
  ['bo%01ss', 400, 'a control character'],
  ['boss%09', 400, 'a tabulator'],
];

for (const [path, status, why] of names) {
  test(`a policy is ${status === 204 ? '' : 'not '}written with ${why}`, async () => {
    for (const base of ['sys/policies/acl', 'sys/policy']) {
      const written = await call('PUT', `${base}/${path}`, { policy: 'path "a" {}' });
      assert.equal(written.status, status, written.text);
    }
  });
}
