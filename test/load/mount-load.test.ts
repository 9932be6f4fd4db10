import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** What one mount of the CA holds is in nobody's way. */

const { running, call } = await startTestServer({ after });

async function ask(method: string, path: string, body?: object): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await call(method, path, body);
    },
    { attempts: 1 },
  );
  assert.ok(reply);
  return reply;
}

const ROLES = 60;

before(async () => {
  await call('POST', 'sys/mounts/team', { type: 'pki' });
  for (const issuer_name of ['one', 'two']) {
    const root = { common_name: 'R', key_type: 'ec', issuer_name };
    assert.equal((await call('POST', 'team/root/generate/internal', root)).status, 200);
  }
  const allowed_domains = Array.from({ length: 9000 }, (_, i) => `${'x'.repeat(84)}${i}.ex.com`);
  const role = { allowed_domains, issuer_ref: 'one' };
  assert.equal((await call('POST', 'team/roles/r', role)).status, 200);
  const of = { name: 'r' };
  await copyRow(running.app.store, 'pki_role', {
    of,
    copies: ROLES - 1,
    changes: { name: numbered('name') },
  });
});

const CHANGES: [
  what: string,
  method: string,
  path: string,
  body: object | undefined,
  told: RegExp,
][] = [
  ['a setting', 'PATCH', 'issuer/one', { leaf_not_after_behavior: 'err' }, /^null$/],
  ['all settings', 'POST', 'issuer/one', { issuer_name: 'one' }, /^null$/],
  ['a name', 'PATCH', 'issuer/one', { issuer_name: 'uno' }, /^\["60 roles reference one"\]$/],
  ['a name that no role has', 'PATCH', 'issuer/two', { issuer_name: 'one' }, /^null$/],
  ['a removal', 'DELETE', 'issuer/one', undefined, /60 roles reference one/],
];
for (const [what, method, path, body, told] of CHANGES) {
  test(`${what} of an issuer is changed without reading the roles of its mount`, async () => {
    const reply = await ask(method, `team/${path}`, body);
    assert.ok(reply.status < 300, reply.text.slice(0, 300));
    assert.match(JSON.stringify(reply.field('warnings') ?? null), told);
  });
}
