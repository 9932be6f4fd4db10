import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { copyRow, numbered } from '../../../test/support/many-rows.ts';
import { ensureEntityForAlias } from '../../access/identity/operations.ts';
import { insertLease } from '../../access/leases/store.ts';
import { insertCertificate } from '../../pki/certificates/store.ts';
import { insertRevocation } from '../../pki/mount-state/revocations.store.ts';
import { compiled } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import { type Effect, write } from '../../store/write.ts';
import { deleteAliasesOfMount, purgeRemovedMounts } from './purge.operations.ts';
import {
  insertRemovedMount,
  LEASES,
  listMountRows,
  listRemovedMounts,
  MOUNT_TABLES,
} from './purge.store.ts';
import { disableMount } from './removal.operations.ts';

const NOW = 1_800_000_000;

function rowsOf(mount_id: string): Effect[] {
  const certificates = Array.from({ length: 450 }, (_, i) => {
    const serial = `aa:${String(i).padStart(4, '0')}`;
    const der = new Uint8Array([1]);
    const ends = { not_before: NOW, not_after: NOW + 60 };
    const row = { serial, issuer_id: 'i', role: 'web', subject_cn: 'a.test', ...ends, der };
    return insertCertificate(mount_id, row, ['a.test', `b${i}.test`]);
  });
  const revocation = { serial: 'aa:0000', issuer_id: 'i', revoked_at_ms: NOW * 1000, reason: 0 };
  const lease = {
    id: `lease/${mount_id}`,
    token_id: undefined,
    mount_id,
    kind: 'certificate',
    data: {},
    issued_at: NOW,
    expires_at: NOW + 60,
    renewed_at: undefined,
    renewable: false,
  };
  return [...certificates.flat(), ...insertRevocation(mount_id, revocation), insertLease(lease)];
}

eachEngine('what is left of a mount', (open) => {
  test('is deleted in pages after it was disabled, and nothing of another mount', async () => {
    const { app, clock } = await openTestApp(await open());
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    const kind = 'secret' as const;
    for (const path of ['gone', 'kept']) await enableTestMount(app, { kind, path, type: 'pki' });
    const gone = await requireTestMount(app, 'gone/');
    const kept = await requireTestMount(app, 'kept/');
    await app.store.commit([...rowsOf(gone.id), ...rowsOf(kept.id)]);
    await disableMount(app, caller, { kind, path: 'gone' });

    let pages = 0;
    const work = {
      stopping: false,
      async commit(effects: Effect[]) {
        pages += 1;
        await app.store.commit(effects);
      },
    };
    await purgeRemovedMounts(app, work);
    assert.ok(pages >= 3, 'more than one page of names');
    for (const place of MOUNT_TABLES) {
      assert.deepEqual(await listMountRows(app.db, gone.id, place, 10), [], place[0]);
    }
    const certificates = MOUNT_TABLES.find(([table]) => table === 'pki_certificate');
    assert.ok(certificates);
    assert.equal((await listMountRows(app.db, kept.id, certificates, 1000)).length, 450);
    assert.equal((await listMountRows(app.db, kept.id, LEASES, 10)).length, 1);

    assert.equal((await listRemovedMounts(app.db)).length, 1, 'looked at again for a while');
    clock.now += 3600;
    await purgeRemovedMounts(app, work);
    assert.deepEqual(await listRemovedMounts(app.db), []);
  });

  test('is let go of by leases some at a time, however many one name had', async () => {
    const { app } = await openTestApp(await open());
    const mount = await requireTestMount(app, 'auth/token/');
    const { alias, effects } = await ensureEntityForAlias(app, mount, 'ann');
    const lease = { id: 'x', mount_id: 'm', kind: 'certificate', data: {}, issued_at: NOW };
    const ends = { expires_at: NOW + 60, renewed_at: undefined, renewable: false };
    const of = { token_id: undefined, alias_id: alias.id };
    await app.commit(testCaller(mount), [...effects, insertLease({ ...lease, ...ends, ...of })]);
    await copyRow(app.store, 'lease', {
      of: { id: 'x' },
      copies: 1_299,
      changes: { id: numbered('id') },
    });
    const countBound = async (): Promise<number> => {
      const bound = app.db.selectFrom('lease').select('id').where('alias_id', '=', alias.id);
      return (await bound.execute()).length;
    };
    const left: number[] = [];
    const commit = async (set: Effect[]): Promise<void> => {
      await app.store.commit(set);
      left.push(await countBound());
    };
    await deleteAliasesOfMount(app, { commit }, mount.accessor);
    assert.deepEqual(left.slice(0, 3), [800, 300, 0]);
  });

  const LEFT: [what: string, table: keyof Tables, rows: number, most: number, columns: string][] = [
    ['names of one certificate', 'pki_certificate_name', 1_300, 500, "'t' || i, 'aa:01'"],
    ['names of many', 'pki_certificate_name', 1_300, 500, "'t.test', 'aa:' || i"],
    ['long roles', 'pki_role', 9, 2, "'r' || i, $text, ''"],
    ['long users', 'userpass_user', 9, 2, "'u' || i, '', $text"],
    ['short roles', 'pki_role', 700, 500, "'r' || i, '{}', ''"],
    ['short users', 'userpass_user', 70, 32, "'u' || i, '', '{}'"],
  ];
  for (const [what, table, rows, most, columns] of LEFT) {
    test(`is deleted so many rows at a time, whatever they belong to: ${what}`, async () => {
      const { app } = await openTestApp(await open());
      await app.store.commit([
        insertRemovedMount({ id: 'm', accessor: '', removed_at: NOW }),
        insertLeft(table, rows, columns),
      ]);
      const countRows = async (): Promise<number> => {
        const count = app.db.selectFrom(table).select((row) => row.fn.countAll().as('n'));
        return Number((await count.executeTakeFirstOrThrow()).n);
      };
      const pages: number[] = [];
      let left = await countRows();
      assert.equal(left, rows);
      const commit = async (effects: Effect[]): Promise<void> => {
        await app.store.commit(effects);
        const now = await countRows();
        pages.push(left - now);
        left = now;
      };
      await purgeRemovedMounts(app, { stopping: false, commit });
      assert.equal(left, 0);
      assert.equal(Math.max(...pages), most);
    });
  }
});

/** Rows of a mount, each with its number in it. */
function insertLeft(table: keyof Tables, rows: number, columns: string): Effect {
  const names: Partial<Record<keyof Tables, string>> = {
    pki_certificate_name: 'mount_id, reversed, serial',
    pki_role: 'mount_id, name, body, issuer_ref',
    userpass_user: 'mount_id, name, password_hash, body',
  };
  const insert = sql`insert into ${sql.table(table)} (${sql.raw(names[table] ?? '')})
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(rows)})
    select 'm', ${sql.raw(columns.replace('$text', `'${'x'.repeat(900_000)}'`))} from n`;
  return write(compiled(insert), { rows });
}
