/** What is kept, and held meanwhile, of what tokens are permitted whose policies are as long as may be. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAccess } from '../../src/access/acl.ts';
import { heldBytes } from '../../src/access/holding/operations.ts';
import { readAcl } from '../../src/access/policies/operations.ts';
import { heapUsed } from '../support/heap.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { openTalk, until } from '../support/raw-talk.ts';
import { type Client, callOver, type Reply, startTestServer } from '../support/server.ts';

const POLICIES = ['long-0', 'long-1', 'long-2', 'long-3'];
const MiB = 1 << 20;

/** Some 5 MiB for a token that has them. */
async function writeLongPolicies(server: Client): Promise<void> {
  for (const [nth, name] of POLICIES.entries()) {
    const stanzas = Array.from(
      { length: 900 },
      (_, at) => `path "+/+/${'Abc/'.repeat(50)}${nth}x${at}" {policy="write"}`,
    );
    const grant = 'path "cubbyhole/*" {policy="write"}';
    const policy = [...stanzas, grant].join('\n');
    assert.equal((await server.call('PUT', `sys/policies/acl/${name}`, { policy })).status, 204);
  }
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

async function makeTokens(server: Client, policies: string[], count: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let token = 0; token < count; token++) {
    const own = [...policies, `nobody-${token}`];
    const made = await server.call('POST', 'auth/token/create', { policies: own });
    tokens.push(made.textAt('auth.client_token'));
  }
  return tokens;
}

test('long permissions of many tokens are not held while bodies are awaited', async (t) => {
  const server = await startTestServer(t);
  await writeLongPolicies(server);
  const tokens = await makeTokens(server, POLICIES, 40);
  const before = heapUsed();
  const talks = await Promise.all(tokens.map(() => openTalk(server, '127.0.0.1')));
  for (const [at, { socket }] of talks.entries()) {
    const head = `POST /v1/cubbyhole/q HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\n`;
    socket.write(`${head}X-Vault-Token: ${tokens[at]}\r\nContent-Length: 9\r\n\r\n{"a":`);
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

test('long permissions of requests that wait for something else have a bound of their own', async (t) => {
  const holder = new CommitHolder();
  const server = await startTestServer(t, { store: holder.over });
  const { app } = server.running;
  await writeLongPolicies(server);
  const tokens = await makeTokens(server, POLICIES, 30);
  const written = Promise.withResolvers<void>();
  let begun = 0;
  holder.press('cubbyhole/q', () => {
    begun += 1;
    return written.promise;
  });
  const before = heapUsed();
  const waiting = tokens.map((token) =>
    callOver(server.url, token)('POST', 'cubbyhole/q', { a: 1 }),
  );
  const refused: Reply[] = [];
  const served: Reply[] = [];
  for (const one of waiting)
    one.then((reply) => (reply.status === 429 ? refused : served).push(reply));
  try {
    await until(() => begun + refused.length === tokens.length);
    assert.ok(refused.length >= 10, `${refused.length}`);
    assert.ok(heldBytes(app) > 32 * MiB && heldBytes(app) <= 64 * MiB, `${heldBytes(app)}`);
    // With all of them it is 150 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 110 * MiB, `${grown >> 20} MiB more`);
    assert.match(refused[0]?.text ?? '', /long permissions are under way, try again/);
    assert.equal(refused[0]?.headers.get('retry-after'), '1');
    // What others may do is little.
    assert.equal((await server.call('POST', 'cubbyhole/p', { a: 1 })).status, 204);
  } finally {
    written.resolve();
  }
  await Promise.all(waiting);
  assert.ok(served.length > 0 && served.every(({ status }) => status === 204));
  assert.equal(heldBytes(app), 0);
});
