import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openStore, type Store } from '../../store/store.ts';
import { decodeNames, reverseName } from './names.ts';
import { type CertificateQuery, listCertificates } from './search.store.ts';
import {
  deleteCertificate,
  findCertificate,
  insertCertificate,
  listCertificateCounts,
  listSerials,
  markRevoked,
} from './store.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
let store: Store;

before(async () => {
  store = await openStore({ engine: 'sqlite', directory });
  const rows = [
    ['0a', 'web', 'a.example.com', 100],
    ['0b', 'web', 'b.example.com', 200],
    ['0c', 'mail', 'example.com', 300],
    ['0d', 'mail', 'notexample.com', 300],
  ] as const;
  for (const [serial, role, subject_cn, not_after] of rows) {
    const row = { serial, issuer_id: 'i', role, subject_cn, not_before: 0, not_after };
    await store.commit(
      insertCertificate('m', { ...row, der: Uint8Array.of(1) }, [subject_cn, `Alt-${serial}.Test`]),
    );
  }
  await store.commit([
    markRevoked({ mount_id: 'm', serial: '0b', revoked_at_ms: 150_000, revocation_reason: 1 }),
    markRevoked({ mount_id: 'm', serial: '0b', revoked_at_ms: 990_000, revocation_reason: 2 }),
  ]);
});

after(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

/** What a certificate's row says of its names. */
const namesOf = (mount_id: string, serial: string) =>
  store.db
    .selectFrom('pki_certificate')
    .select(['serial', 'subject_cn', 'names'])
    .where('mount_id', '=', mount_id)
    .where('serial', '=', serial)
    .executeTakeFirstOrThrow();

test('a certificate reads back by its serial number, and only on its own mount', async () => {
  const found = await findCertificate(store.db, 'm', '0a');
  assert.equal(found?.subject_cn, 'a.example.com');
  assert.equal(await findCertificate(store.db, 'other', '0a'), undefined);
});

test('serial numbers are listed in order, page by page', async () => {
  assert.deepEqual(await listSerials(store.db, { mount_id: 'm', after: '', limit: 2 }), [
    '0a',
    '0b',
  ]);
  assert.deepEqual(await listSerials(store.db, { mount_id: 'm', after: '0b', limit: 9 }), [
    '0c',
    '0d',
  ]);
});

test('the second revocation of a certificate changes nothing', async () => {
  const found = await findCertificate(store.db, 'm', '0b');
  assert.deepEqual([found?.revoked_at_ms, found?.revocation_reason], [150_000, 1]);
});

const searches: [query: Partial<CertificateQuery>, serials: string[], why: string][] = [
  [{}, ['0a', '0b', '0c', '0d'], 'without conditions everything is found'],
  [{ name: 'Example.com' }, ['0c'], 'a name is that name in any case'],
  [{ name: '*.example.com' }, ['0a', '0b'], 'a wildcard is everything beneath, and no more'],
  [{ name: 'alt-0d.test' }, ['0d'], 'alternative names are found too'],
  [{ name: 'xample.com' }, [], 'a part of a name is not the name'],
  [{ role: 'mail' }, ['0c', '0d'], 'by role'],
  [{ issuer_id: 'j' }, [], 'by another issuer'],
  [{ state: 'revoked' }, ['0b'], 'revoked'],
  [{ state: 'valid' }, ['0c', '0d'], 'valid is neither revoked nor over'],
  [{ state: 'expired' }, ['0a'], 'over'],
  [{ expires_after: 200, expires_before: 300 }, ['0b'], 'from, and before'],
  [{ after: { not_after: 300, serial: '0c' } }, ['0d'], 'the next page of equal ends'],
  [{ limit: 1 }, ['0a'], 'no more than asked for'],
  [{ name: '*.example.com', state: 'expired' }, ['0a'], 'a name and a state'],
  [{ name: '*.com', limit: 2 }, ['0a', '0b'], 'of those with a name no more than asked for'],
  [{ name: '*.com', after: { not_after: 200, serial: '0b' } }, ['0c', '0d'], 'the page after it'],
  [{ state: 'valid', after: { not_after: 100, serial: '0a' } }, ['0c', '0d'], 'not before now'],
  [{ expires_after: 300, after: { not_after: 300, serial: '0c' } }, ['0d'], 'the later of two'],
];

for (const [query, serials, why] of searches) {
  test(`search: ${why}`, async () => {
    const { found } = await listCertificates(store.db, 'm', { now: 150, limit: 10, ...query });
    assert.deepEqual(
      found.map(({ serial }) => serial),
      serials,
    );
  });
}

test('the count of certificates is kept by insertion and deletion', async () => {
  assert.equal((await listCertificateCounts(store.db)).get('m'), 4);
  const names = store.db.selectFrom('pki_certificate_name').selectAll();
  const ofIt = names.where('mount_id', '=', 'm').where('serial', '=', '0d');
  assert.equal((await ofIt.execute()).length, 2);
  const row = await namesOf('m', '0d');
  await store.commit(deleteCertificate('m', row));
  assert.deepEqual(await ofIt.execute(), []);
  assert.equal((await names.where('mount_id', '=', 'm').execute()).length, 6);
  assert.equal((await listCertificateCounts(store.db)).get('m'), 3);
  await assert.rejects(store.commit(deleteCertificate('m', row)), /not stored any more/);
  assert.equal((await listCertificateCounts(store.db)).get('m'), 3);
});

/** How many statements a certificate's names may take: as few as it takes to have them quickly. */
const numbersOfNames: [names: number, statements: number][] = [
  [0, 1],
  [1, 2],
  [48, 49],
  [49, 1],
  [50, 2],
  [4_999, 100],
];
for (const [names, statements] of numbersOfNames) {
  test(`${names} names besides the common name are stored by ${statements} statements, and each is found`, async () => {
    const serial = `n${names}`;
    const row = { serial, issuer_id: 'n', role: 'n', subject_cn: `cn.${serial}.test` };
    const others = Array.from(
      { length: names },
      (_, at) => `${(at * 7919) % 5_003}.${serial}.test`,
    );
    const writes = insertCertificate(
      'n',
      { ...row, not_before: 0, not_after: 1, der: Uint8Array.of(1) },
      // A name that is given twice is one.
      [...others, ...others],
    );
    const ofNames = writes.filter(({ sql }) => sql.includes('pki_certificate_name'));
    assert.equal(ofNames.length, statements);
    await store.commit(writes);
    const stored = await store.db
      .selectFrom('pki_certificate_name')
      .select('reversed')
      .where('mount_id', '=', 'n')
      .where('serial', '=', serial)
      .execute();
    assert.deepEqual(
      stored.map(({ reversed }) => reverseName(reversed)).sort(),
      [row.subject_cn, ...others].sort(),
    );
    assert.deepEqual(
      decodeNames(await namesOf('n', serial)),
      stored.map(({ reversed }) => reversed),
    );
  });
}
