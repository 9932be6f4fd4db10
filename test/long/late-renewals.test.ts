// A renewal that is written after its token has run out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommitHolder } from '../support/held-commit.ts';
import { callAs, must } from '../support/racing.ts';
import { type Client, startTestServer } from '../support/server.ts';

type Made = { token: string; accessor: string };

const RENEWALS: readonly [path: string, sent: (made: Made) => object][] = [
  ['auth/token/renew-self', () => ({})],
  ['auth/token/renew', ({ token }) => ({ token })],
  ['auth/token/renew-accessor', ({ accessor }) => ({ accessor })],
];

const WAITS: readonly [name: string, seconds: number, lives: boolean][] = [
  ['before its end', 50, true],
  ['at its end', 60, false],
  ['after its end', 120, false],
];

/** How the records of a path say that it ended, and which token with it. */
async function recordsOf({ running }: Client, path: string): Promise<string[][]> {
  const rows = await running.app.db
    .selectFrom('audit_entry')
    .select('record')
    .orderBy('seq')
    .execute();
  return rows.flatMap(({ record }) => {
    const { request, response } = JSON.parse(Buffer.from(record).toString('utf8'));
    if (request?.path !== path) return [];
    return [[response.status, response.ended_accessor].filter((one) => one !== undefined)];
  });
}

for (const [path, sent] of RENEWALS) {
  for (const [name, seconds, lives] of WAITS) {
    test(`${path} that is written ${name}: the token ${lives ? 'lives on' : 'and its children stay dead'}`, async (t) => {
      let ahead = 0;
      const holder = new CommitHolder();
      const server = await startTestServer(t, {
        store: holder.over,
        now: () => Date.now() + ahead,
      });
      const { call } = server;
      const text = 'path "auth/token/*" { capabilities = ["create", "update", "read"] }';
      await must(call('PUT', 'sys/policies/acl/tokens', { policy: text }));
      const body = { ttl: '60s', policies: ['tokens'] };
      const made = await must(call('POST', 'auth/token/create', body));
      const token = made.textAt('auth.client_token');
      const accessor = made.textAt('auth.accessor');
      const own = callAs(call, token);
      const child = await must(own('POST', 'auth/token/create', { ttl: '20m' }));

      const held = holder.hold(path);
      const by = path.endsWith('self') ? own : call;
      const renewing = by('POST', path, { increment: '30m', ...sent({ token, accessor }) });
      assert.equal(await Promise.race([held.reached, renewing]), undefined);
      ahead = seconds * 1000;
      held.letGo();
      const renewed = await renewing;
      assert.equal(renewed.status, lives ? 200 : 400, renewed.text);
      for (const text of [token, child.textAt('auth.client_token')]) {
        const self = await callAs(call, text)('GET', 'auth/token/lookup-self');
        assert.equal(self.status, lives ? 200 : 403, self.text);
      }
      const said = await recordsOf(server, path);
      assert.deepEqual(said, lives ? [['done']] : [['done'], ['refused', accessor]]);
    });
  }
}

test('of two renewals at once, the later one is planned by what the other one has done', async (t) => {
  const holder = new CommitHolder();
  const { call } = await startTestServer(t, { store: holder.over });
  const made = await must(call('POST', 'auth/token/create', { ttl: '1m', policies: ['default'] }));
  const accessor = made.textAt('auth.accessor');
  const path = 'auth/token/renew-accessor';
  const held = holder.hold(path);
  const late = call('POST', path, { accessor, increment: '20m' });
  await held.reached;
  await must(call('POST', path, { accessor, increment: '10m' })).finally(held.letGo);
  await must(late);
  const seen = await must(call('POST', 'auth/token/lookup-accessor', { accessor }));
  assert.ok(Number(seen.field('data.ttl')) > 19 * 60, seen.text);
});

test('a renewal is refused when its token was revoked while it waited', async (t) => {
  const holder = new CommitHolder();
  const { call } = await startTestServer(t, { store: holder.over });
  const made = await must(call('POST', 'auth/token/create', { ttl: '1m', policies: ['default'] }));
  const accessor = made.textAt('auth.accessor');
  const held = holder.hold('auth/token/renew-accessor');
  const late = call('POST', 'auth/token/renew-accessor', { accessor, increment: '20m' });
  await held.reached;
  await must(call('POST', 'auth/token/revoke-accessor', { accessor })).finally(held.letGo);
  assert.equal((await late).status, 400);
  const gone = await call('POST', 'auth/token/lookup-accessor', { accessor });
  assert.equal(gone.status, 400, gone.text);
});

for (const mount of ['token', 'up']) {
  test(`a renewal goes by what auth/${mount}/ is tuned to while it waits`, async (t) => {
    const holder = new CommitHolder();
    const { call } = await startTestServer(t, { store: holder.over });
    let token: string;
    if (mount === 'up') {
      const password = 'correct horse';
      await must(call('POST', 'sys/auth/up', { type: 'userpass' }));
      await must(call('POST', 'auth/up/users/ann', { password }));
      const made = await must(call('POST', 'auth/up/login/ann', { password }, { token: '' }));
      token = made.textAt('auth.client_token');
    } else {
      const made = await must(call('POST', 'auth/token/create', { policies: ['default'] }));
      token = made.textAt('auth.client_token');
    }
    const held = holder.hold('auth/token/renew-self');
    const late = callAs(call, token)('POST', 'auth/token/renew-self', { increment: '20h' });
    await held.reached;
    const settings = { max_lease_ttl: '1h', default_lease_ttl: '1h' };
    await must(call('POST', `sys/auth/${mount}/tune`, settings)).finally(held.letGo);
    assert.ok(Number((await must(late)).field('auth.lease_duration')) <= 3600);
  });
}
