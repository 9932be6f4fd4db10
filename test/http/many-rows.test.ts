import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { longestTurn } from '../support/turns.ts';

/** What many small requests left behind holds nobody up, whatever is asked of it. */

const { running, call } = await startTestServer({ after });
const { store, db } = running.app;

/** Milliseconds of CPU time between two turns of the loop, the client's own share included. */
const LONGEST_TURN = 50;

async function ask(method: string, path: string, body?: object): Promise<Reply> {
  let reply: Reply | undefined;
  const longest = await longestTurn(async () => {
    reply = await call(method, path, body);
  });
  assert.ok(longest < LONGEST_TURN, `${longest} ms`);
  assert.ok(reply);
  return reply;
}

/** How many keys a list has, each of them once. */
function countOf(list: Reply): number {
  const keys = list.field('data.keys');
  assert.ok(Array.isArray(keys), list.text.slice(0, 300));
  assert.equal(new Set(keys).size, keys.length);
  return keys.length;
}

before(async () => {
  const steps: [string, object][] = [
    ['sys/mounts/pki', { type: 'pki' }],
    ['pki/root/generate/internal', { common_name: 'R', key_type: 'ec' }],
    ['pki/roles/r', { allow_any_name: true, key_type: 'ec', generate_lease: true }],
    ['pki/issue/r', { common_name: 'a.test', ttl: '1h' }],
  ];
  for (const [path, body] of steps) {
    const reply = await call('POST', path, body);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  }
});

const LEASES = 30_000;

test('nobody is held up by leases: by their list, and by their number', async () => {
  const { id } = await db.selectFrom('lease').select('id').executeTakeFirstOrThrow();
  const copies = { of: { id }, copies: LEASES };
  await copyRow(store, 'lease', { ...copies, changes: { id: sql`id || '-' || n.i` } });
  await copyRow(store, 'lease', { ...copies, changes: { id: numbered('id') } });
  const beneath = await ask('LIST', 'sys/leases/lookup/pki/issue/r');
  assert.equal(countOf(beneath), LEASES + 1);
  // Those of the second kind lie in folders of their own.
  const all = await ask('LIST', 'sys/leases/lookup');
  assert.equal(countOf(all), LEASES + 1);
  assert.equal(all.field('data.keys.1000'), '1001001-pki/');
  const counted = await ask('GET', 'sys/leases/count');
  assert.equal(counted.field('data.lease_count'), 2 * LEASES + 1);
  assert.deepEqual(counted.field('data.counts'), { 'pki/': 2 * LEASES + 1 });
});
