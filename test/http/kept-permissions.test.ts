/** What is kept, and held meanwhile, of what tokens are permitted whose policies are as long as may be. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAccess } from '../../src/access/acl.ts';
import { readAcl } from '../../src/access/policies/operations.ts';
import { heapUsed } from '../support/heap.ts';
import { openTalk, type Talk } from '../support/raw-talk.ts';
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

test('long permissions of many tokens are not held while bodies are awaited', async (t) => {
  const server = await startTestServer(t);
  await writeLongPolicies(server);
  const tokens: string[] = [];
  for (let token = 0; token < 40; token++) {
    const policies = [...POLICIES, `nobody-${token}`];
    const made = await server.call('POST', 'auth/token/create', { policies });
    tokens.push(made.textAt('auth.client_token'));
  }
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
        const head = `${asked} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nContent-Length: 9\r\n`;
        talk.socket.write(
          `${head}X-Vault-Token: ${token}\r\nAuthorization: Bearer ${token}\r\n\r\n{"a":`,
        );
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
