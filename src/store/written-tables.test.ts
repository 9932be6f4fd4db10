import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteCertificate, insertCertificate, markRevoked } from '../pki/certificates/store.ts';
import type { Write } from './write.ts';
import { WrittenTables } from './written-tables.ts';

const asSql = (sql: string): Write => ({ sql, parameters: [] });
const row = { serial: '0a', issuer_id: 'i', role: '', subject_cn: 'a.test', not_before: 0 };
const revoked = { mount_id: 'm', serial: '0a', revoked_at_ms: 1, revocation_reason: null };

const CASES: { what: string; set: readonly Write[]; written: string[] }[] = [
  {
    what: 'a certificate that is issued leaves those that are there as they are',
    set: insertCertificate('m', { ...row, not_after: 1, der: Uint8Array.of(1) }, []),
    written: [],
  },
  { what: 'one that is revoked', set: [markRevoked(revoked)], written: ['pki_certificate'] },
  {
    what: 'one that is removed',
    set: deleteCertificate('m', { ...row, names: null }),
    written: ['pki_certificate'],
  },
  {
    what: 'a row that takes the place of another one',
    set: [asSql('insert into "pki_certificate" values ($1) on conflict do update set der = $1')],
    written: ['pki_certificate'],
  },
  {
    what: 'a new row where it is kept that there is none',
    set: [asSql('insert into "token" values ($1)')],
    written: ['token'],
  },
  {
    what: 'a table whose name only begins so',
    set: [asSql('update "pki_certificate_name" set reversed = $1')],
    written: [],
  },
  { what: 'what is only held', set: [asSql('select id from "token" for update')], written: [] },
];

test('which tables are written is found by what statements do to their rows', () => {
  const tables = new WrittenTables(['token', 'pki_certificate'], ['pki_certificate']);
  for (const { what, set, written } of CASES) {
    for (const round of ['first', 'again']) {
      assert.deepEqual([...tables.of([set])], written, `${what}, ${round}`);
    }
  }
});
