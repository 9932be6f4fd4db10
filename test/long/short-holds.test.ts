// What a request rests on may have been written with megabytes: it says which text that was, and does not send it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { isAuditEntry, write } from '../../src/store/write.ts';
import { must } from '../support/racing.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const client = await startTestServer(
  { after },
  { on_one: 'what stands between the server and its store' },
);
const { call } = client;
const { store, db } = client.running.app;

/** Characters of the longest parameter of a statement that was committed meanwhile. */
async function longestSent(work: () => Promise<unknown>): Promise<number> {
  const { commit } = store;
  let longest = 0;
  store.commit = (effects) => {
    for (const effect of effects) {
      if (isAuditEntry(effect)) continue;
      for (const value of effect.parameters) {
        if (typeof value === 'string') longest = Math.max(longest, value.length);
      }
    }
    return commit(effects);
  };
  try {
    await work();
  } finally {
    store.commit = commit;
  }
  return longest;
}

type Table = 'mount' | 'pki_role' | 'userpass_user' | 'approle_role' | 'token_role' | 'ssh_role';

/** As an older program may have kept it. */
async function lengthen(table: Table, add: (body: Record<string, unknown>) => object) {
  const rows = await db.selectFrom(table).select('body').distinct().execute();
  const writes = rows.map(({ body }) => {
    const long = JSON.stringify({ ...JSON.parse(body), ...add(JSON.parse(body)) });
    return write(build.updateTable(table).set({ body: long }).where('body', '=', body));
  });
  await store.commit([...writes, bumpConfigVersion()]);
}

const words = Array.from({ length: 40 }, () => 'x'.repeat(8000));

await must(call('POST', 'sys/mounts/team', { type: 'pki' }));
const root = { common_name: 'R', key_type: 'ec', ttl: '1000h' };
await must(call('POST', 'team/root/generate/internal', root));
await must(call('POST', 'team/roles/r', { allow_any_name: true, key_type: 'ec', ttl: '1h' }));
await must(call('POST', 'sys/auth/up', { type: 'userpass' }));
await must(call('POST', 'auth/up/users/ann', { password: 'correct horse' }));
await must(call('POST', 'sys/auth/ar', { type: 'approle' }));
await must(call('POST', 'auth/ar/role/web', { role_id: 'web', bind_secret_id: true }));
await must(call('POST', 'auth/token/roles/r', { renewable: true }));
await must(call('POST', 'sys/mounts/ssh', { type: 'ssh' }));
await must(call('POST', 'ssh/config/ca', { key_type: 'ed25519' }));
const ssh = { key_type: 'ca', allow_user_certificates: true, default_user: 'ann' };
await must(call('POST', 'ssh/roles/r', ssh));

await lengthen('mount', () => ({ options: { n: words.join('') } }));
await lengthen('pki_role', () => ({ allowed_domains: words }));
await lengthen('userpass_user', () => ({ older: words }));
await lengthen('approle_role', () => ({ older: words }));
await lengthen('ssh_role', () => ({ allowed_users: words.map((word) => word.slice(0, 1000)) }));
await lengthen('token_role', () => ({ allowed_policies_glob: words }));

const tokenOf = (reply: Reply): string => reply.textAt('auth.client_token');

const REQUESTS: [what: string, ask: () => Promise<Reply>][] = [
  ['an issuance', () => call('POST', 'team/issue/r', { common_name: 'a.test' })],
  ['a root', () => call('POST', 'team/root/generate/internal', root)],
  ['a token', () => call('POST', 'auth/token/create', {})],
  ['a token of a role', () => call('POST', 'auth/token/create/r', {})],
  ['a log-in by password', () => call('POST', 'auth/up/login/ann', { password: 'correct horse' })],
  ['a certificate for SSH', () => call('POST', 'ssh/issue/r', { key_type: 'ed25519' })],
  ['a secret ID', () => call('POST', 'auth/ar/role/web/secret-id', {})],
];

for (const [what, ask] of REQUESTS) {
  test(`${what} sends no text of what it rests on`, async () => {
    const longest = await longestSent(() => must(ask()));
    assert.ok(longest > 0 && longest < 10_000, `${longest} characters`);
  });
}

test('a log-in by secret ID sends no text of what it rests on', async () => {
  const { text } = await must(call('POST', 'auth/ar/role/web/secret-id', {}));
  const { secret_id } = JSON.parse(text).data;
  const logIn = () => call('POST', 'auth/ar/login', { role_id: 'web', secret_id });
  assert.ok((await longestSent(() => must(logIn()))) < 10_000);
});

const RENEWED: [what: string, make: () => Promise<Reply>][] = [
  ['a token', () => call('POST', 'auth/token/create', { ttl: '1h' })],
  ['a token of a role', () => call('POST', 'auth/token/create/r', { ttl: '1h' })],
  ['a log-in', () => call('POST', 'auth/up/login/ann', { password: 'correct horse' })],
];

for (const [what, make] of RENEWED) {
  test(`the renewal of ${what} sends no text of what it rests on`, async () => {
    const token = tokenOf(await must(make()));
    const renew = () => call('POST', 'auth/token/renew', { token });
    const longest = await longestSent(() => must(renew()));
    assert.ok(longest > 0 && longest < 10_000, `${longest} characters`);
  });
}
