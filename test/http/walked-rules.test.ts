// A token whose policies are written to take long, and who looks through all of them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { must } from '../support/racing.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const { call } = await startTestServer({ after });

const NAME = '{{identity.entity.name}}';
const POLICIES = ['h0', 'h1', 'h2', 'h3', 'h4'];
/** Four thousand denials of nobody's names, by which six thousand names are judged. */
const stanza = (policy: number, n: number): string =>
  policy < 2
    ? `path "identity/${NAME}-${policy}-${n}" { capabilities = ["deny"] }`
    : `path "identity/${policy}-${n}" { capabilities = ["read"] }`;

const MAY_LOOK = `path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }
  path "sys/capabilities-self" { capabilities = ["update"] }
  path "pki/issue/*" { capabilities = ["update"] }`;

async function tokenWith(policies: readonly string[]): Promise<string> {
  const body = { policies, no_default_policy: true };
  return String((await must(call('POST', 'auth/token/create', body))).field('auth.client_token'));
}

before(async () => {
  for (const [at, name] of POLICIES.entries()) {
    const policy = Array.from({ length: 1990 }, (_, n) => stanza(at, n)).join('\n');
    await must(call('PUT', `sys/policies/acl/${name}`, { policy }));
  }
  await must(call('PUT', 'sys/policies/acl/look', { policy: MAY_LOOK }));
  await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
});

async function ask(method: string, path: string, token: string, body?: object): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await call(method, path, body, { token });
    },
    { what: `${method} ${path}` },
  );
  assert.ok(reply);
  return reply;
}

test('what thousands of policies come to is refused, or answered in part, without holding anybody up', async () => {
  const token = await tokenWith([...POLICIES, 'look']);
  // So that they are read and merged.
  await must(call('POST', 'sys/capabilities-self', { paths: ['identity/x'] }, { token }));
  const grants = await ask('GET', 'sys/internal/ui/resultant-acl', token);
  assert.equal(grants.status, 400, grants.text.slice(0, 200));
  assert.match(grants.text, /takes too long: ask sys\/capabilities-self/);
  const own = await ask('POST', 'sys/capabilities-self', token, {
    paths: ['identity/2-7', 'identity/x', 'pki/issue/web'],
  });
  assert.deepEqual(
    ['identity/2-7', 'identity/x', 'pki/issue/web'].map((path) => own.field(`data.${path}`)),
    [['read'], ['deny'], ['update']],
  );
  const shown = await must(ask('GET', 'sys/internal/ui/mounts', token));
  assert.ok(shown.text.includes('"pki/"'), shown.text);
  await must(ask('GET', 'sys/internal/specs/openapi', token));
});

test('a token of ordinary policies is told all that they come to', async () => {
  const token = await tokenWith(['look']);
  const grants = await must(ask('GET', 'sys/internal/ui/resultant-acl', token));
  assert.deepEqual(grants.field('data'), {
    root: false,
    exact_paths: {
      'sys/internal/ui/resultant-acl': { capabilities: ['read'] },
      'sys/capabilities-self': { capabilities: ['update'] },
    },
    glob_paths: { 'pki/issue/*': { capabilities: ['update'] } },
    chroot_namespace: '',
  });
  const shown = await must(ask('GET', 'sys/internal/ui/mounts', token));
  assert.ok(shown.text.includes('"pki/"'), shown.text);
  assert.ok(!shown.text.includes('"identity/"'), shown.text);
});
