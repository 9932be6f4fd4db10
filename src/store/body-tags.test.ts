import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachEngine, eachPlace } from '../../test/support/engines.ts';
import { columnTypes } from './columns.ts';
import { build } from './database.ts';
import { bodyTags } from './migrations/0057-body-tags.ts';
import { sshRoleTags } from './migrations/0120-ssh-role-tags.ts';
import type { Store } from './store.ts';
import { type Value, type Write, write } from './write.ts';

/** Tables whose bodies others rest on, and what else a row of them has to have. */
const TABLES = [
  ['mount', 'id', { kind: 'secret', path: '', type: 'pki', accessor: '' }],
  ['pki_role', 'name', { mount_id: 'm' }],
  ['userpass_user', 'name', { mount_id: 'm', password_hash: '' }],
  ['approle_role', 'name', { mount_id: 'm', role_id: '' }],
  ['token_role', 'name', {}],
  ['ssh_role', 'name', { mount_id: 'm' }],
] as const;
type Of = (typeof TABLES)[number];

const run = (text: string, ...parameters: Value[]): Write => ({ sql: text, parameters });

/** Columns that are unique have the key's value. */
function insert([table, key, others]: Of, name: string, body: string): Write {
  const rest = Object.entries(others).map(([column, value]) => [column, value || name]);
  const row: Record<string, string> = Object.fromEntries([[key, name], ...rest, ['body', body]]);
  const columns = Object.keys(row);
  const places = columns.map((_, at) => `$${at + 1}`);
  return run(`insert into ${table} (${columns}) values (${places})`, ...Object.values(row));
}

async function tagOf(store: Store, [table, key]: Of, name: string): Promise<string> {
  const { body_tag } = await store.db
    .selectFrom(table)
    .select('body_tag')
    .where(sql<string>`${sql.ref(key)}`, '=', name)
    .executeTakeFirstOrThrow();
  return body_tag;
}

const CHANGES: [what: string, set: string, isAnother: boolean][] = [
  ['another body', "body = 'B'", true],
  ['the same body', "body = 'A'", false],
  ['another body with the same column beside it', "body = 'B', body_tag = body_tag", true],
  ['a longer one', "body = 'AA'", true],
];

eachEngine('the tag of a body', (open) => {
  for (const of of TABLES) {
    const [table, key] = of;
    for (const [what, set, isAnother] of CHANGES) {
      test(`of ${table} is ${isAnother ? 'another' : 'the same'} with ${what}`, async () => {
        const store = await open();
        await store.commit([insert(of, 'a', 'A')]);
        const before = await tagOf(store, of, 'a');
        assert.match(before, /^[0-9a-f-]{32,36}$/);
        await store.commit([run(`update ${table} set ${set} where ${key} = 'a'`)]);
        assert.equal((await tagOf(store, of, 'a')) !== before, isAnother);
      });
    }

    test(`of ${table} is none that a row had before, or that another row has`, async () => {
      const store = await open();
      await store.commit([insert(of, 'a', 'A'), insert(of, 'b', 'A')]);
      const seen = [await tagOf(store, of, 'a'), await tagOf(store, of, 'b')];
      for (const body of ['B', 'A']) {
        await store.commit([run(`update ${table} set body = $1 where ${key} = 'a'`, body)]);
        seen.push(await tagOf(store, of, 'a'));
      }
      await store.commit([run(`delete from ${table} where ${key} = 'a'`), insert(of, 'a', 'A')]);
      seen.push(await tagOf(store, of, 'a'));
      assert.equal(new Set(seen).size, seen.length);
    });
  }
});

eachPlace('an older database', (newPlace, engine) => {
  test('has tags for all bodies once it is opened', async () => {
    const store = await (await newPlace()).open();
    const triggers = engine === 'sqlite' ? ['insert', 'update'] : ['update'];
    const on = (table: string) => (engine === 'postgres' ? ` on ${table}` : '');
    await store.commit([
      ...TABLES.flatMap(([table]) => [
        ...triggers.map((event) => run(`drop trigger tag_${table}_${event}${on(table)}`)),
        run(`alter table ${table} drop column body_tag`),
      ]),
      ...TABLES.flatMap((of) => [insert(of, 'a', 'A'), insert(of, 'b', 'A')]),
    ]);
    for (const { up } of [bodyTags, sshRoleTags]) {
      for (const text of up(columnTypes(engine))) await store.commit([run(text)]);
    }
    for (const of of TABLES) {
      const [a, b] = [await tagOf(store, of, 'a'), await tagOf(store, of, 'b')];
      assert.match(a, /^[0-9a-f-]{32,36}$/, of[0]);
      assert.notEqual(a, b, of[0]);
    }
    await store.close();
  });
});

eachEngine('a row that brings its tag', (open) => {
  test('as one from a backup does, keeps it', async () => {
    const store = await open();
    const row = build.insertInto('token_role').columns(['name', 'body']);
    await store.commit([
      write(row.values({ name: 'a', body: 'A' })),
      run("insert into token_role (name, body, body_tag) values ('b', 'B', 'kept')"),
    ]);
    assert.equal(await tagOf(store, TABLES[4], 'b'), 'kept');
  });
});
