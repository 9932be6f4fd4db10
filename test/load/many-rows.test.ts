import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** What many small requests left behind holds nobody up, whatever is asked of it. */

const { running, call } = await startTestServer({ after });
const { store, db } = running.app;

async function ask(method: string, path: string, body?: object): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await call(method, path, body);
    },
    { what: `${method} ${path}`, attempts: method === 'POST' ? 1 : 3 },
  );
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
    ['sys/auth/approle', { type: 'approle' }],
    ['auth/approle/role/r', {}],
    ['auth/approle/role/r/secret-id', { num_uses: 2 }],
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

const CERTIFICATES = 20_000;

test('nobody is held up by a search for certificates, however few of them it finds', async () => {
  const { serial } = await db
    .selectFrom('pki_certificate')
    .select('serial')
    .executeTakeFirstOrThrow();
  const copies = { of: { serial }, copies: CERTIFICATES };
  const number = sql`substr(1000000 + n.i, 2, 2) || ':' || substr(1000000 + n.i, 4, 2) || ':' ||
    substr(1000000 + n.i, 6, 2) || ':' || serial`;
  const reversed = sql`'tset.' || n.i || '.a'`;
  const names = sql`'["' || ${reversed} || '"]'`;
  const ends = { serial: number, not_after: sql`not_after - n.i % 7`, names };
  await copyRow(store, 'pki_certificate', { ...copies, changes: ends });
  const changes = { serial: number, reversed };
  await copyRow(store, 'pki_certificate_name', { ...copies, changes });
  const search = (query: string) => ask('LIST', `pki/certs/search?${query}`);
  /** A page that is not empty, or the last: of those that match few, each request looks at some only. */
  const find = async (query: string): Promise<Reply> => {
    for (let next = ''; ; ) {
      const page = await search(`${query}${next}`);
      if (page.status !== 200 || countOf(page) > 0) return page;
      next = `&after=${page.textAt('data.next')}`;
    }
  };
  const cases: [query: string, found: number][] = [
    ['name=*.test', 100],
    ['name=*.test&state=revoked', 0],
    ['name=*.test&role=s', 0],
    ['name=12321.test', 0],
    ['name=a.12321.test', 1],
    ['state=revoked', 0],
    ['state=expired', 0],
    ['state=valid', 100],
    ['role=r&state=revoked', 0],
    ['issuer_ref=default&state=revoked', 0],
    ['issuer_ref=default&role=s', 0],
  ];
  for (const [query, found] of cases) {
    const reply = await find(query);
    assert.equal(reply.status, found === 0 ? 404 : 200, `${query}: ${reply.text}`);
    if (found > 0) assert.equal(countOf(reply), found, query);
  }
  const seen = new Set<unknown>();
  for (let next = ''; ; ) {
    const page = await search(`name=*.test&state=valid&limit=1000${next}`);
    const keys = page.field('data.keys');
    assert.ok(Array.isArray(keys), page.text.slice(0, 300));
    for (const key of keys) seen.add(key);
    if (page.field('data.next') === '') break;
    next = `&after=${page.textAt('data.next')}`;
  }
  assert.equal(seen.size, CERTIFICATES + 1);
});

test('a search looks at ten thousand certificates, and says where to go on when it found nothing', async () => {
  const looks: unknown[] = [];
  for (let next = ''; ; ) {
    const page = await call('LIST', `pki/certs/search?state=revoked&limit=1000${next}`);
    if (page.status === 404) break;
    assert.deepEqual(page.field('data.keys'), []);
    next = `&after=${page.textAt('data.next')}`;
    looks.push(next);
  }
  assert.equal(new Set(looks).size, CERTIFICATES / 10_000);
});

const SECRET_IDS = 20_000;

test('nobody is held up by the secret IDs of a role: neither by their list nor by one more', async () => {
  const { id } = await db.selectFrom('approle_secret_id').select('id').executeTakeFirstOrThrow();
  const changes = { id: numbered('id'), accessor: numbered('accessor') };
  const copies = { of: { id }, copies: SECRET_IDS };
  await copyRow(store, 'approle_secret_id', { ...copies, changes });
  const path = 'auth/approle/role/r/secret-id';
  const dead = { id: sql`'dead-' || n.i`, accessor: sql`'0dead-' || n.i`, expires_at: sql`1` };
  await copyRow(store, 'approle_secret_id', { ...copies, changes: dead });
  assert.equal(countOf(await ask('LIST', path)), SECRET_IDS + 1);
  assert.equal((await ask('POST', path, {})).status, 200);
  assert.equal(countOf(await ask('LIST', path)), SECRET_IDS + 2);
});
