import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { insertLease } from '../../access/leases/store.ts';
import { insertCertificate } from '../../pki/certificates/store.ts';
import { insertRevocation } from '../../pki/revocation/store.ts';
import type { Effect } from '../../store/write.ts';
import { disableMount, enableMount } from '../operations.ts';
import { deleteAllRemains } from './operations.ts';
import { listRemains, listRemovedMounts, REMAINS } from './store.ts';

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
    const settings = { description: '', config: {}, options: null, local: false };
    const kind = 'secret' as const;
    for (const path of ['gone', 'kept']) {
      const flags = { seal_wrap: false, external_entropy_access: false };
      await enableMount(app, caller, { kind, path, type: 'pki', ...settings, ...flags });
    }
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
    await deleteAllRemains(app, work);
    assert.ok(pages >= 3, 'more than one page of certificates');
    for (const place of REMAINS) {
      assert.deepEqual(await listRemains(app.db, gone.id, place, 10), [], place[0]);
    }
    const certificates = REMAINS.find(([table]) => table === 'pki_certificate');
    assert.ok(certificates);
    assert.equal((await listRemains(app.db, kept.id, certificates, 1000)).length, 450);
    assert.equal((await listRemains(app.db, kept.id, ['lease', 'id'], 10)).length, 1);

    assert.equal((await listRemovedMounts(app.db)).length, 1, 'looked at again for a while');
    clock.now += 3600;
    await deleteAllRemains(app, work);
    assert.deepEqual(await listRemovedMounts(app.db), []);
  });
});
