import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../test/support/engines.ts';
import { decodeNames } from '../pki/certificates/names.ts';
import { columnTypes } from './columns.ts';
import { build } from './database.ts';
import { roleIdKeys } from './migrations/0025-role-id-keys.ts';
import { logIns } from './migrations/0031-log-ins.ts';
import { sourcePages } from './migrations/0039-source-pages.ts';
import { issuersOfRoles } from './migrations/0041-issuers-of-roles.ts';
import { namesInRows } from './migrations/0119-names-in-rows.ts';
import { MIGRATIONS, planMigrations } from './migrations.ts';
import { write } from './write.ts';

test('steps are numbered upwards, none twice', () => {
  const numbers = MIGRATIONS.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
});

test('a database gets the steps that it has not had', () => {
  const all = MIGRATIONS.map(({ number }) => number);
  assert.deepEqual(planMigrations([]), MIGRATIONS);
  assert.deepEqual(planMigrations([1]), MIGRATIONS.slice(1));
  assert.deepEqual(planMigrations(all), []);
});

const step = (number: number) => ({ number, name: `step-${number}`, up: () => [] });
const known = [step(1), step(2), step(4)];
const applied: [had: number[], gets: number[] | RegExp, why: string][] = [
  [[1, 2], [4], 'the last'],
  [[1, 4], [2], 'one with a smaller number that came later'],
  [[4, 2, 1], [], 'none, in whatever order it had them'],
  [[1, 2, 4, 5], /is at schema 5 .* up to 4/, 'a later program was here'],
  [[1, 2, 3, 4], /has had step 3 /, 'another program was here'],
];
for (const [had, gets, why] of applied) {
  test(`a database that has had the steps ${had.join()}: ${why}`, () => {
    const plan = () => planMigrations(had, known).map(({ number }) => number);
    if (gets instanceof RegExp) assert.throws(plan, { kind: 'unavailable', message: gets });
    else assert.deepEqual(plan(), gets);
  });
}

test('every text column of PostgreSQL is ordered by bytes', () => {
  const statements = MIGRATIONS.flatMap((migration) => migration.up(columnTypes('postgres')));
  for (const statement of statements) {
    assert.doesNotMatch(statement, /\btext\b(?! collate "C")/i, statement);
  }
});

eachPlace('a database', (newPlace, engine) => {
  test('keeps what it holds when it is opened again', async () => {
    const place = await newPlace();
    const first = await place.open();
    await first.commit([
      write(build.insertInto('audit_sink').values({ name: 'file', node: 'a', seq: 4 })),
    ]);
    await first.close();
    const second = await place.open();
    const rows = await second.db.selectFrom('audit_sink').selectAll().execute();
    assert.deepEqual(rows, [{ name: 'file', node: 'a', seq: 4 }]);
    await second.close();
  });

  test('whose roles have IDs that fold to the same keeps both, one of them without the key', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string) => ({ sql, parameters: [] });
    const role = (mount_id: string, name: string, role_id: string) => ({
      sql: "insert into approle_role (mount_id, name, role_id, body) values ($1, $2, $3, '{}')",
      parameters: [mount_id, name, role_id],
    });
    await store.commit([
      run('drop index approle_role_id_key'),
      run('alter table approle_role drop column role_id_key'),
      role('m', 'a', 'Web-1'),
      role('m', 'b', 'WEB-1'),
      role('m', 'c', 'web-2'),
      role('m', 'd', 'ÉTÉ'),
      role('other', 'b', 'WEB-1'),
      ...roleIdKeys.up(columnTypes(engine)).map(run),
    ]);
    const rows = store.db.selectFrom('approle_role').select(['mount_id', 'name', 'role_id_key']);
    assert.deepEqual(
      (await rows.orderBy('mount_id').orderBy('name').execute()).map((row) => Object.values(row)),
      [
        ['m', 'a', 'web-1'],
        ['m', 'b', null],
        ['m', 'c', 'web-2'],
        ['m', 'd', null],
        ['other', 'b', 'web-1'],
      ],
    );
    const taken = build.updateTable('approle_role').set({ role_id_key: 'web-1' });
    await assert.rejects(store.commit([write(taken.where('name', '=', 'c'))]), /exists already/);
    await store.close();
  });

  test('whose certificates have their names beside them alone keeps them, and most rows as they are', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string, ...parameters: (string | number)[]) => ({ sql, parameters });
    const certificates: [serial: string, subject_cn: string, names: string[]][] = [
      ['aa', 'A.test', ['tset.a']],
      ['ab', 'a.test', ['tset.a', 'tset.b', '"tset,\\.\u0001\né']],
      ['ac', '', ['tset.c']],
      ['ad', '', []],
      ['ae', '', ['tset.e', 'tset.a']],
    ];
    const insert = `insert into pki_certificate
      (mount_id, serial, issuer_id, role, subject_cn, not_before, not_after, der)
      values ($1, $2, 'i', 'r', $3, 1, 2, ${engine === 'sqlite' ? "x'00'" : "'\\x00'"})`;
    const rows = certificates.flatMap(([serial, subject_cn, names]) => [
      run(insert, 'm', serial, subject_cn),
      ...names.map((name) =>
        run('insert into pki_certificate_name values ($1, $2, $3)', 'm', name, serial),
      ),
    ]);
    await store.commit([
      run('alter table pki_certificate drop column names'),
      run('create index pki_certificate_name_serial on pki_certificate_name (mount_id, serial)'),
      ...rows,
      // Of another mount, with the same serial number.
      run(insert, 'n', 'ab', 'x.test'),
      run("insert into pki_certificate_name values ('n', 'tset.x', 'ab')"),
      ...namesInRows.up(columnTypes(engine)).map((sql) => run(sql)),
    ]);
    const found = await store.db
      .selectFrom('pki_certificate')
      .select(['mount_id', 'serial', 'subject_cn', 'names'])
      .orderBy('mount_id')
      .orderBy('serial')
      .execute();
    const several = (...names: string[]) => JSON.stringify(names.sort());
    assert.deepEqual(
      found.map(({ names }) => names),
      [
        null,
        several('tset.a', 'tset.b', '"tset,\\.\u0001\né'),
        several('tset.c'),
        null,
        several('tset.a', 'tset.e'),
        null,
      ],
    );
    const decoded = found.map((row) => decodeNames(row));
    assert.deepEqual(decoded.slice(0, 1), [['tset.a']]);
    assert.deepEqual(decoded.slice(2), [['tset.c'], [], ['tset.a', 'tset.e'], ['tset.x']]);
    await store.close();
  });

  test('whose leases are older knows which source of a session made them', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string) => ({ sql, parameters: [] });
    const random = 'x'.repeat(24);
    const ids = [
      `broker/sessions/s_1234567890/clvlt_1234567890/${random}`,
      `pki/issue/web/${random}${random}${random}`,
    ];
    await store.commit([
      run('drop index lease_source'),
      run('alter table lease drop column source_id'),
      run('drop index session_credential_source'),
      run('alter table removed_mount drop column accessor'),
      ...ids.map((id) => ({
        sql: `insert into lease (id, bound, mount_id, kind, data, issued_at, expires_at, renewable)
          values ($1, 0, '', 'none', '{}', 1, 2, 0)`,
        parameters: [id],
      })),
      ...sourcePages.up(columnTypes(engine)).map(run),
    ]);
    const rows = store.db.selectFrom('lease').select('source_id').orderBy('id');
    assert.deepEqual(await rows.execute(), [
      { source_id: 'clvlt_1234567890' },
      { source_id: null },
    ]);
    await store.close();
  });

  test('whose log-ins are older knows by which alias they came', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string, ...parameters: string[]) => ({ sql, parameters });
    const token = (id: string, mount_id: string, entity_id: string) =>
      run(
        'insert into token (id, accessor, mount_id, uses_left, body) values ($1, $1, $2, 0, $3)',
        id,
        mount_id,
        // What a log-in's metadata could hold; PostgreSQL reads none of the first two as JSON.
        JSON.stringify({
          meta: ['\u0000', '\ud800', String.raw`\u0000`, '\u{1f600}', id],
          entity_id,
        }),
      );
    const alias = (id: string, entity_id: string, accessor: string) =>
      run(
        `insert into identity_alias (id, entity_id, mount_accessor, name, name_key, created_at_ms, updated_at_ms, body) values ($1, $2, $3, $1, $1, 0, 0, '{}')`,
        id,
        entity_id,
        accessor,
      );
    await store.commit([
      run('drop index token_alias'),
      run('alter table token drop column alias_id'),
      run(
        "insert into mount (id, kind, path, type, accessor, body) values ('up', 'auth', 'up/', 'userpass', 'auth_up', '{}')",
      ),
      run(
        "insert into mount (id, kind, path, type, accessor, body) values ('ar', 'auth', 'ar/', 'approle', 'auth_ar', '{}')",
      ),
      run("insert into identity_entity values ('e', 'e', 'e', 1, 0, 0, '{}')"),
      alias('e-up', 'e', 'auth_up'),
      token('of-up', 'up', 'e'),
      token('of-ar', 'ar', 'e'),
      token('of-nobody', 'up', ''),
      token('child', '', 'e'),
      ...logIns.up(columnTypes(engine)).map((sql) => run(sql)),
    ]);
    const rows = store.db.selectFrom('token').select(['id', 'alias_id']).orderBy('id');
    assert.deepEqual(
      (await rows.execute()).map((row) => Object.values(row)),
      [
        ['child', ''],
        ['of-ar', ''],
        ['of-nobody', ''],
        ['of-up', 'e-up'],
      ],
    );
    await store.close();
  });

  test('whose roles are older knows what they name as issuer, and nothing that only looks so', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string, ...parameters: string[]) => ({ sql, parameters });
    const role = (name: string, body: object) =>
      run(
        "insert into pki_role (mount_id, name, body) values ('m', $1, $2)",
        name,
        JSON.stringify(body),
      );
    const looks = '"issuer_ref":"no"';
    await store.commit([
      run('drop index pki_role_issuer'),
      run('alter table pki_role drop column issuer_ref'),
      role('a', { ttl: 1, issuer_ref: 'old', ou: [] }),
      role('b', { issuer_ref: 'x'.repeat(256) }),
      role('c', { allowed_domains: [looks, '"issuer_ref":', '\u0000é'], issuer_ref: 'new' }),
      role('d', { allowed_domains: ['issuer_ref', looks] }),
    ]);
    for (const sql of issuersOfRoles.up(columnTypes(engine))) await store.commit([run(sql)]);
    const rows = store.db.selectFrom('pki_role').select(['name', 'issuer_ref']).orderBy('name');
    assert.deepEqual(
      (await rows.execute()).map((row) => Object.values(row)),
      [
        ['a', 'old'],
        ['b', ''],
        ['c', 'new'],
        ['d', 'default'],
      ],
    );
    await store.close();
  });

  test('that was left without a step between gets it when it is opened again', async () => {
    const place = await newPlace();
    const store = await place.open();
    const run = (sql: string) => ({ sql, parameters: [] });
    await store.commit([
      ...['token_children', 'token_ends', 'token_of_mount'].map((one) => run(`drop index ${one}`)),
      run('create index token_parent on token (parent_id)'),
      run('create index token_expiry on token (expires_at)'),
      run('create index token_mount on token (mount_id)'),
      run('delete from schema_migration where number = 30'),
    ]);
    await store.close();
    const again = await place.open();
    // An index that is there cannot be made.
    await assert.rejects(
      again.commit([run('create index token_children on token (accessor)')]),
      /exist/,
    );
  });

  test('of a later program is refused in one line, and left as it is', async () => {
    const place = await newPlace();
    const store = await place.open();
    await store.commit([
      { sql: "insert into schema_migration values (999, 'later', 0)", parameters: [] },
    ]);
    await store.close();
    await assert.rejects(place.open(), (error: Error) => {
      assert.match(error.message, /^the database is at schema 999 and this program knows[^\n]*$/);
      return true;
    });
  });
});
