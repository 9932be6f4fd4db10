/** What is kept, and held meanwhile, of what tokens are permitted whose policies are as long as may be. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { makeKeyInTurn } from '../../src/access/concurrency/operations.ts';
import { readAcl } from '../../src/access/permissions/sets.operations.ts';
import { judgeAccess } from '../../src/acl/acl.ts';
import type { App } from '../../src/app/app.ts';
import { insertCertificate } from '../../src/pki/certificates/store.ts';
import { heapUsed } from '../support/heap.ts';
import { copyRow } from '../support/many-rows.ts';
import { headOf, openTalk, type Talk, until } from '../support/raw-talk.ts';
import { type Client, callOver, startTestServer } from '../support/server.ts';

const POLICIES = ['long-0', 'long-1', 'long-2', 'long-3'];
const MiB = 1 << 20;

/** Some 5 MiB for a token that has them. */
async function writeLongPolicies(server: Client): Promise<void> {
  for (const [nth, name] of POLICIES.entries()) {
    const stanzas = Array.from(
      { length: 900 },
      (_, at) => `path "+/+/${'Abc/'.repeat(50)}${nth}x${at}" {policy="write"}`,
    );
    const grants = ['cubbyhole/*', 'demo/issue/*', 'demo/certs/'].map(
      (path) => `path "${path}" {policy="write"}`,
    );
    const policy = [...stanzas, ...grants].join('\n');
    assert.equal((await server.call('PUT', `sys/policies/acl/${name}`, { policy })).status, 204);
  }
}

/** Tokens of those policies, no two of which have the same. */
async function makeTokens(server: Client, count: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let token = 0; token < count; token++) {
    const policies = [...POLICIES, `nobody-${token}`];
    const made = await server.call('POST', 'auth/token/create', { policies });
    tokens.push(made.textAt('auth.client_token'));
  }
  return tokens;
}

test('rules whose names are spelt anew take no more than their room, however many places names have', async (t) => {
  const server = await startTestServer(t);
  await writeLongPolicies(server);
  const before = heapUsed();
  for (let token = 0; token < 6; token++) {
    const acl = await readAcl(server.running.app, [...POLICIES, `nobody-${token}`], undefined);
    for (let at = 2; at < 10; at++) {
      const formed = [{ at, form: 'lower_case' }] as const;
      const asked = { path: `a/b/${'abc/'.repeat(50)}0x1`, operation: 'read', formed } as const;
      await judgeAccess(acl, { ...asked, sudoRequired: false });
    }
  }
  // Without a bound it is 200 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 80 * MiB, `${grown >> 20} MiB more`);
});

test('of many sets of policies that are compiled at the same time few are under way', async (t) => {
  let begun = 0;
  let done = 0;
  let most = 0;
  // Whoever compiles asks for the time first.
  const now = (): number => {
    if (new Error().stack?.includes('compileLoaded')) begun += 1;
    most = Math.max(most, begun - done);
    return Date.now();
  };
  const server = await startTestServer(t, { now });
  await writeLongPolicies(server);
  begun = most = 0;
  await Promise.all(
    Array.from({ length: 30 }, async (_, token) => {
      await readAcl(server.running.app, [...POLICIES, `nobody-${token}`], undefined);
      done += 1;
    }),
  );
  assert.equal(begun, 30);
  assert.ok(most <= 4, `${most} at once`);
});

test('of sets of policies that wait to be compiled nothing is held', async (t) => {
  const server = await startTestServer(t);
  const { app } = server.running;
  const sets = Array.from({ length: 16 }, (_, set) => [`a-${set}`, `b-${set}`, `c-${set}`]);
  for (const [nth, name] of sets.flat().entries()) {
    const paths = Array.from({ length: 900 }, (_, at) => `${'abc/'.repeat(50)}${nth}x${at}`);
    const policy = paths.map((path) => `path "${path}" {policy="write"}`).join('\n');
    const written = await server.call('PUT', `sys/policies/acl/${name}`, { policy });
    assert.equal(written.status, 204);
  }
  const before = heapUsed();
  const reading = sets.map((names) => readAcl(app, names, undefined));
  await Promise.race(reading);
  // Parsed they are 2 MiB each; those that are kept, parsed and compiled, have their rooms.
  const grown = heapUsed() - before;
  assert.ok(grown < 16 * MiB, `${grown >> 20} MiB more`);
  await Promise.all(reading);
});

test('long permissions of many tokens are not held while bodies are awaited', async (t) => {
  const server = await startTestServer(t);
  await writeLongPolicies(server);
  const tokens = await makeTokens(server, 40);
  const before = heapUsed();
  const talks = await Promise.all(tokens.map(() => openTalk(server, '127.0.0.1')));
  for (const [at, { socket }] of talks.entries()) {
    const fields = [`X-Vault-Token: ${tokens[at]}`, 'Content-Length: 9'];
    socket.write(`${headOf(server, 'POST /v1/cubbyhole/q', fields)}{"a":`);
  }
  try {
    // Later than all of them, in turn.
    for (const token of tokens) {
      const call = callOver(server.url, token);
      assert.equal((await call('POST', 'cubbyhole/p', { a: 1 })).status, 204);
    }
    // With all of them it is 200 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 80 * MiB, `${grown >> 20} MiB more`);
    for (const { socket, answers, text } of talks) {
      socket.write('"b"}');
      await answers(1);
      assert.match(text(), /^HTTP\/1.1 204/);
    }
  } finally {
    for (const { socket } of talks) socket.destroy();
  }
});

/** Takes all places in which keys are made. @returns gives them back */
function holdKeys(app: App): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  // One network has two of the three.
  for (const party of ['192.0.2.1', '192.0.2.1', '198.51.100.1']) {
    void makeKeyInTurn(app, { party }, () => promise);
  }
  return resolve;
}

test('long permissions of many tokens are not held while keys are waited for, and are found again', async (t) => {
  const server = await startTestServer(t);
  await writeLongPolicies(server);
  await server.call('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
  const role = { allow_any_name: true, key_type: 'rsa', key_bits: 2048, ttl: '1h' };
  assert.equal((await server.call('POST', 'demo/roles/rsa', role)).status, 200);
  const tokens = await makeTokens(server, 40);
  const letGo = holdKeys(server.running.app);
  const before = heapUsed();
  const talks = await Promise.all(tokens.map(() => openTalk(server, '127.0.0.1')));
  try {
    for (const [at, { socket }] of talks.entries()) {
      const fields = [`X-Vault-Token: ${tokens[at]}`, 'Content-Length: 24'];
      socket.write(`${headOf(server, 'POST /v1/demo/issue/rsa', fields)}{"common_name":"a.test"}`);
    }
    // Later than all of them, in turn.
    for (const token of tokens) {
      const call = callOver(server.url, token);
      assert.equal((await call('POST', 'cubbyhole/p', { a: 1 })).status, 204);
    }
    // With all of them it is 200 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 80 * MiB, `${grown >> 20} MiB more`);
    // Of the first the token ends meanwhile.
    await server.call('POST', 'auth/token/revoke', { token: tokens[0] });
    letGo();
    for (const [at, { answers, text }] of talks.slice(0, 4).entries()) {
      await answers(1);
      assert.match(text(), at === 0 ? /^HTTP\/1.1 403/ : /^HTTP\/1.1 200/);
    }
  } finally {
    letGo();
    for (const { socket } of talks) socket.destroy();
  }
});

test('long permissions of many tokens are not held while long lists wait for their clients', async (t) => {
  const server = await startTestServer(t, { on_one: 'the listener is looked into' });
  await writeLongPolicies(server);
  const mount_id = (await server.call('GET', 'sys/mounts/demo')).textAt('data.uuid');
  const { store } = server.running.app;
  const empty = { issuer_id: '', role: '', subject_cn: '', not_before: 0, not_after: 0 };
  const first = { serial: '00', ...empty, der: Buffer.alloc(0) };
  await store.commit(insertCertificate(mount_id, first, []));
  // More than a socket of either side takes that nobody reads.
  const serial = sql`printf('%07d', n.i) || ${sql.lit('x'.repeat(200))}`;
  await copyRow(store, 'pki_certificate', {
    ...{ of: { serial: '00' }, copies: 60_000 },
    changes: { serial },
  });
  const tokens = await makeTokens(server, 30);
  const before = heapUsed();
  const talks = await Promise.all(tokens.map(() => openTalk(server, '127.0.0.1')));
  try {
    for (const [at, { socket, answers }] of talks.entries()) {
      socket.write(headOf(server, 'LIST /v1/demo/certs', [`X-Vault-Token: ${tokens[at]}`]));
      await answers(1);
      socket.pause();
    }
    const { unsent } = server.running.http.held();
    assert.ok(unsent > talks.length * 200_000, 'none of them is sent whole');
    // With all of them it is 150 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 80 * MiB, `${grown >> 20} MiB more`);
    talks[0]?.socket.resume();
    await until(() => talks[0]?.text().includes('"0060000xx') === true);
  } finally {
    for (const { socket } of talks) socket.destroy();
  }
});

/** As much as a token may be told of whoever has it. */
const META = Object.fromEntries(
  Array.from({ length: 900 }, (_, at) => [`name-${at}`, 'x'.repeat(50)]),
);

for (const [api, asked, policy] of [
  ['vault', 'POST /v1/cubbyhole/q', 'default'],
  ['boundary', 'POST /v1/scopes', 'root'],
] as const) {
  test(`what many tokens are told of is not held while bodies are awaited (${api})`, async (t) => {
    const server = await startTestServer(t);
    const before = heapUsed();
    const talks: Talk[] = [];
    try {
      for (let nth = 0; nth < 300; nth++) {
        const meta = { ...META, nth: `${nth}` };
        const made = await server.call('POST', 'auth/token/create', { meta, policies: [policy] });
        const token = made.textAt('auth.client_token');
        const talk = await openTalk(server, '127.0.0.1');
        talks.push(talk);
        const tokens = [`X-Vault-Token: ${token}`, `Authorization: Bearer ${token}`];
        talk.socket.write(`${headOf(server, asked, ['Content-Length: 9', ...tokens])}{"a":`);
      }
      assert.equal((await server.call('POST', 'cubbyhole/p', { a: 1 })).status, 204);
      const grown = heapUsed() - before;
      // With all of them it is 40 MiB.
      assert.ok(grown < 25 * MiB, `${grown >> 20} MiB more`);
      for (const { socket, answers, text } of talks) {
        socket.write('"b"}');
        await answers(1);
        assert.match(text(), api === 'vault' ? /^HTTP\/1.1 204/ : /^HTTP\/1.1 400/);
      }
    } finally {
      for (const { socket } of talks) socket.destroy();
    }
  });
}
