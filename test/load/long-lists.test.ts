import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import type { Tables } from '../../src/store/tables.ts';
import { type Write, write } from '../../src/store/write.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Lists of thousands on the Vault API hold nobody up. */

const { running, call } = await startTestServer({ after });
const { store, db } = running.app;

const COUNT = 3_000;
const all = Array.from({ length: COUNT }, (_, at) => at);

/**
 * Stores copies of one row of a table, which some columns tell apart: faster than to ask for them one by one.
 *
 * @param where which row it is; the only one unless told
 */
async function copy(table: keyof Tables, columns: string[], where = /./): Promise<void> {
  const rows = (await db.selectFrom(table).selectAll().execute()).map(
    (one) => new Map(Object.entries(one)),
  );
  const found = rows.find((one) => columns.some((column) => where.test(String(one.get(column)))));
  assert.ok(found, table);
  const row = Object.fromEntries(found);
  const names = sql.join(Object.keys(row).map((name) => sql.ref(name)));
  const insertOne = (at: number): Write => {
    const own = Object.fromEntries(columns.map((column) => [column, `${at}-${row[column]}`]));
    const values = sql.join(Object.values({ ...row, ...own }));
    const insert = sql`insert into ${sql.table(table)} (${names}) values (${values})`;
    return write({ compile: () => insert.compile(build) }, { rows: 1 });
  };
  for (let at = 0; at < COUNT; at += 500) {
    await store.commit(all.slice(at, at + 500).map(insertOne));
  }
  await store.commit([bumpConfigVersion()]);
}

const LISTS: [path: string, table: keyof Tables, columns: string[], where?: RegExp][] = [
  ['sys/policies/acl', 'policy', ['name'], /^p$/],
  ['auth/userpass/users', 'userpass_user', ['name']],
  ['auth/approle/role', 'approle_role', ['name', 'role_id', 'role_id_key']],
  ['auth/approle/role/r/secret-id', 'approle_secret_id', ['id', 'accessor']],
  ['auth/token/accessors', 'token', ['id', 'accessor']],
  ['auth/token/roles', 'token_role', ['name']],
  ['sys/leases/lookup', 'lease', ['id']],
  ['pki/roles', 'pki_role', ['name']],
  ['pki/certs', 'pki_certificate', ['serial']],
  ['cubbyhole', 'cubbyhole', ['path']],
  ['identity/entity/id', 'identity_entity', ['id', 'name', 'name_key'], /^entity_/],
  ['identity/group/id', 'identity_group', ['id', 'name', 'name_key']],
  ['identity/entity-alias/id', 'identity_alias', ['id', 'name', 'name_key', 'entity_id']],
  ['pki/issuers', 'pki_issuer', ['id']],
  ['pki/keys', 'pki_key', ['id']],
];

before(async () => {
  const steps: [string, object][] = [
    ['sys/auth/userpass', { type: 'userpass' }],
    ['sys/auth/approle', { type: 'approle' }],
    ['sys/mounts/pki', { type: 'pki' }],
    ['sys/policies/acl/p', { policy: 'path "a" { capabilities = ["read"] }' }],
    ['auth/userpass/users/u', { password: 'right' }],
    ['auth/approle/role/r', {}],
    ['auth/approle/role/r/secret-id', {}],
    ['auth/token/roles/t', {}],
    ['pki/root/generate/internal', { common_name: 'R', key_type: 'ec' }],
    ['pki/roles/r', { allow_any_name: true, key_type: 'ec', generate_lease: true }],
    ['pki/issue/r', { common_name: 'a.test', ttl: '1h' }],
    ['cubbyhole/x', { a: 'b' }],
    ['identity/entity', { name: 'e' }],
    ['identity/group', { name: 'g' }],
    ['auth/token/create', {}],
    ['auth/userpass/login/u', { password: 'right' }],
  ];
  for (const [path, body] of steps) {
    const reply = await call('POST', path, body);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  }
});

for (const [path, table, columns, where] of LISTS) {
  test(`nobody is held up by LIST ${path}`, async () => {
    await copy(table, columns, where);
    let reply: Reply | undefined;
    await holdsNobodyUp(async () => {
      reply = await call('LIST', path);
    });
    assert.equal(reply?.status, 200, reply?.text.slice(0, 300) ?? '');
  });
}

test('nobody is held up by the list of mounts', async () => {
  await copy('mount', ['id', 'path', 'accessor'], /^pki\/$/);
  await holdsNobodyUp(async () => {
    assert.equal((await call('GET', 'sys/mounts')).status, 200);
  });
});
