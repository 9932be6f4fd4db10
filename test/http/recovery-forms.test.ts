import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { makeRecoveryToken } from '../support/recovery-token.ts';
import { AUTH_METHOD, listedIds, startBroker } from '../support/seeded-broker.ts';
import type { Client } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const PATH = `auth-methods/${AUTH_METHOD}:authenticate`;
const RIGHT = { attributes: { login_name: 'admin', password: 'password' } };

async function spentToken({ call }: Client): Promise<string> {
  const made = await call('POST', 'auth/token/create', { num_uses: 1, ttl: '1h' });
  const token = made.textAt('auth.client_token');
  assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 200);
  return token;
}

eachPlace('who was nobody when a request came', (newPlace) => {
  for (const what of ['', 'what looks like a recovery token', 'a token without a use left']) {
    test(`is nobody when it is judged again, with ${what || 'nothing'}`, async (t) => {
      const holder = new CommitHolder();
      const { client, admin } = await startBroker(t, {
        place: await newPlace(),
        store: holder.over,
      });
      const roles = listedIds(await admin('GET', 'roles?scope_id=global&recursive=true'));
      const text = what.startsWith('a token') ? await spentToken(client) : what && 'r_x';
      const headers: Record<string, string> = text ? { authorization: `Bearer ${text}` } : {};
      const held = holder.hold(PATH);
      const answer = client.call('POST', PATH, RIGHT, { token: '', headers });
      await held.reached;
      // Nobody may log in any more.
      for (const id of roles) {
        if (!(await admin('GET', `roles/${id}`)).text.includes('u_anon')) continue;
        const removed = await client.call('DELETE', `roles/${id}`, undefined, { token: 'root' });
        assert.equal(removed.status, 204);
      }
      held.letGo();
      assert.equal((await answer).status, 401);
    });
  }
});

test('what authorizes a session, and a recovery token, stand in no record, wherever they were sent', async (t) => {
  const key = randomBytes(32);
  const { admin, client } = await startBroker(t, { config: { recovery_key: key } as never });
  const made = await admin('POST', 'targets/ttcp_1234567890:authorize-session', {});
  const secrets = [
    made.textAt('authorization_token'),
    makeRecoveryToken(key, { created_ms: Date.now() }),
  ];
  for (const secret of secrets) {
    assert.ok(secret.length > 100, secret);
    await admin('GET', `sessions/${secret}`);
    await admin('POST', `targets/${secret}:authorize-session`, {});
    await admin('POST', 'users', { scope_id: 'global', name: secret });
    await client.call('POST', 'auth/token/lookup-accessor', { accessor: secret });
  }
  const { app } = client.running;
  await writeRecords(client.running);
  const records = await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 10_000 });
  const text = records.map(({ record }) => record).join('\n');
  assert.ok(text.includes('lookup-accessor'));
  for (const secret of secrets) assert.equal(text.includes(secret), false);
});
