import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachEngine, sqlitePlaceIn } from '../../../test/support/engines.ts';
import { compiled, createDb, type Reader } from '../../store/database.ts';
import { SqliteReader } from '../../store/sqlite/reader.ts';
import { write } from '../../store/write.ts';
import { reverseName } from './names.ts';
import { listCertificates } from './search.store.ts';
import { insertCertificate } from './store.ts';

/** So many have the names that all are walked in their order, and not those that have them. */
const MANY = 2_100;

/** Certificates with two names, of one mount and of a role of their own. */
const numbers = sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(MANY)})`;
const manyRows = (der: string) => [
  write(
    compiled(sql`insert into pki_certificate
      (mount_id, serial, issuer_id, role, subject_cn, not_before, not_after, der, names) ${numbers}
      select 'm', 'many' || i, 'i', 'many', '', 0, 9, ${sql.raw(der)},
        '["tset.emas","tset.ynam.' || i || '"]' from n`),
    { rows: MANY },
  ),
  ...["'tset.emas'", "'tset.ynam.' || i"].map((name) =>
    write(
      compiled(sql`insert into pki_certificate_name (mount_id, reversed, serial) ${numbers}
        select 'm', ${sql.raw(name)}, 'many' || i from n`),
      { rows: MANY },
    ),
  ),
];

/** More bytes of names than are looked through with others'. */
const LONG_NAMES = Array.from({ length: 100 }, (_, at) => `${'x'.repeat(60)}${at}.test`);

/** What a certificate of another role has for names, and by which of two searches it is found. */
const FEW: [serial: string, subject_cn: string, names: string[], by: string][] = [
  ['a', 'x.many.test', [], '*.many.test'],
  ['b', 'X.Many.Test', ['x.many.test'], '*.many.test'],
  ['c', '', ['x.many.test'], '*.many.test'],
  ['d', 'x.test', ['a.test', 'b.a.many.test', 'z.test'], '*.many.test'],
  ['e', 'many.test', ['amany.test'], ''],
  // Its text looks like two names.
  ['f', 'x.many.test",q', ['x.test', 'emas.test",q'], ''],
  ['g', '', [], ''],
  ['h', 'same.test', [], 'same.test'],
  ['i', 'a.test', ['SAME.test'], 'same.test'],
  ['j', 'asame.test', ['a.same.test'], ''],
  ['k', 'x.test', ['x.%many.test', 'x.many_test'], ''],
  ['l', 'x.test', [...LONG_NAMES, 'x.many.test'], '*.many.test'],
  ['m', 'x.many.test', LONG_NAMES, '*.many.test'],
  ['n', 'x.test', LONG_NAMES, ''],
];

eachEngine('a search by a name that thousands have', (open, engine) => {
  test('finds those of another role by all names that they have, and by no parts of these', async () => {
    const store = await open();
    await store.commit(manyRows(engine === 'sqlite' ? "x'00'" : "'\\x00'"));
    for (const [serial, subject_cn, names] of FEW) {
      const row = { serial, issuer_id: 'i', role: 'few', subject_cn, not_before: 0, not_after: 9 };
      const set = insertCertificate('m', { ...row, der: Uint8Array.of(0) }, names);
      await store.commit(set);
    }
    for (const name of ['*.many.test', 'same.test']) {
      const query = { now: 1, limit: 100, name, role: 'few' };
      const { found } = await listCertificates(store.db, 'm', query);
      const expected = FEW.flatMap(([serial, , , by]) => (by === name ? serial : []));
      assert.deepEqual(
        found.map(({ serial }) => serial),
        expected,
        name,
      );
      const all = await listCertificates(store.db, 'm', { ...query, role: undefined, limit: 3000 });
      assert.equal(all.found.length, MANY + expected.length);
      assert.deepEqual(Object.keys(all.found[0] ?? {}).includes('is_subject_alone'), false);
    }
    assert.equal(reverseName('x.many.test",q'), 'q,"tset.ynam.x');
  });
});

test('of certificates with thousands of names few are looked through by one statement', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const place = sqlitePlaceIn(directory);
  const store = await place.open();
  await store.commit(manyRows("x'00'"));
  const names = (at: number) =>
    Array.from({ length: 99 }, (_, n) => `${'x'.repeat(2_500)}${n}.${at === 7 ? 'many' : at}.test`);
  const LONG = 20;
  for (let at = 0; at < LONG; at += 1) {
    const row = { serial: `long${at}`, issuer_id: 'i', role: 'few', subject_cn: '' };
    const facts = { ...row, not_before: 0, not_after: 9, der: Uint8Array.of(0) };
    await store.commit(insertCertificate('m', facts, names(at)));
  }
  const reader = new SqliteReader(join(directory, 'gatehouse.db'));
  const counts: number[] = [];
  const counting: Reader = {
    all(sql, parameters) {
      const long = parameters.filter((one) => String(one).startsWith('long')).length;
      // What has many is left out by how long it is.
      if (sql.includes('replace(') && !sql.includes('octet_length(')) counts.push(long);
      return reader.all(sql, parameters);
    },
    first: (sql, parameters) => reader.first(sql, parameters),
    some: (sql, parameters, columns) => reader.some(sql, parameters, columns),
    close: () => reader.close(),
  };
  const db = createDb(counting);
  const query = { now: 1, limit: 100, name: '*.many.test', role: 'few' };
  const { found } = await listCertificates(db, 'm', query);
  assert.deepEqual(
    found.map(({ serial }) => serial),
    ['long7'],
  );
  assert.deepEqual(counts, [9, 9, 2]);
  await reader.close();
  await place.remove();
});
