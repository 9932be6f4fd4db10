import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Tables } from '../../src/store/tables.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startTestServer } from '../support/server.ts';

// A list of names that is longer than a page is given while it is read, a page at a time, and is whole.

const { running, call } = await startTestServer({ after });
const { store, db } = running.app;

/** With the one that is copied: one more than two pages. */
const COPIES = 2_000;

interface NameList {
  path: string;
  method?: 'GET';
  table: keyof Tables;
  key: string;
  of: Record<string, string>;
  others?: readonly string[];
  fields?: readonly string[];
  /** What is listed and has no row. */
  also?: readonly string[];
}

const users: NameList = {
  path: 'auth/up/users',
  table: 'userpass_user',
  key: 'name',
  of: { name: 'n' },
};
const policies: NameList = {
  path: 'sys/policies/acl',
  table: 'policy',
  key: 'name',
  of: { name: 'n' },
  also: ['default', 'root'],
};
const of_old = { ...policies, fields: ['data.keys', 'data.policies', 'keys', 'policies'] };

const LISTS: readonly NameList[] = [
  users,
  policies,
  { ...of_old, path: 'sys/policy' },
  { ...of_old, path: 'sys/policy', method: 'GET' },
  {
    path: 'auth/approle/role',
    table: 'approle_role',
    key: 'name',
    of: { name: 'n' },
    others: ['role_id', 'role_id_key'],
  },
  { path: 'auth/token/roles', table: 'token_role', key: 'name', of: { name: 'n' } },
  {
    path: 'auth/token/accessors',
    table: 'token',
    key: 'accessor',
    of: { expires_at: '' },
    others: ['id'],
  },
];

before(async () => {
  const steps: [path: string, body: object][] = [
    ['sys/auth/up', { type: 'userpass' }],
    ['sys/auth/approle', { type: 'approle' }],
    ['auth/up/users/n', { password: 'right' }],
    ['sys/policies/acl/n', { policy: 'path "a" { capabilities = ["read"] }' }],
    ['auth/approle/role/n', {}],
    ['auth/token/roles/n', {}],
  ];
  for (const [path, body] of steps) {
    const reply = await call('POST', path, body);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  }
});

/** What is copied of tokens: one that has not run out. */
async function oneOf({ table, of }: NameList): Promise<Record<string, string>> {
  if (table !== 'token') return of;
  const made = await call('POST', 'auth/token/create', { ttl: '1h' });
  const accessor = made.textAt('auth.accessor');
  const { id } = await db
    .selectFrom('token')
    .select('id')
    .where('accessor', '=', accessor)
    .executeTakeFirstOrThrow();
  return { id };
}

async function copy(list: NameList): Promise<void> {
  const { table, key, others = [] } = list;
  const [known] = await db.selectFrom(table).select(sql<number>`count(*)`.as('rows')).execute();
  if (Number(known?.rows) > COPIES) return;
  const changes = Object.fromEntries([key, ...others].map((column) => [column, numbered(column)]));
  await copyRow(store, table, { of: await oneOf(list), copies: COPIES, changes });
}

for (const list of LISTS) {
  const { path, method = 'LIST', table, key, also = [], fields = ['data.keys'] } = list;
  test(`${method} ${path} is given in pieces where it is long, and in one where it is not`, async () => {
    const short = await call(method, path);
    assert.equal(short.status, 200, short.text);
    if (!short.text.includes('1000001-'))
      assert.ok(short.headers.has('content-length'), short.text);
    await copy(list);
    const rows = await db
      .selectFrom(table)
      .select(sql<string>`${sql.ref(key)}`.as('key'))
      .execute();
    const wanted = [...rows.map((row) => row.key), ...also].sort();
    assert.ok(wanted.length > COPIES);
    const long = await call(method, path);
    assert.equal(long.headers.get('content-length'), null);
    for (const field of fields) assert.deepEqual(long.field(field), wanted, field);
    assert.equal(long.field('wrap_info'), null);
  });
}
