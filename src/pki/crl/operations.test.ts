import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app.ts';
import { parseCrl } from '../../x509/crl.ts';
import { formatSerial } from '../../x509/serial.ts';
import { rootFields } from '../issuers/root.ts';
import { insertRevocation } from '../revocation/store.ts';
import { generateRoot } from '../roots/operations.ts';
import { readCrl, rotateCrls, writeCrlConfig } from './operations.ts';

const rootInput = z.object({ exported: z.string(), ...rootFields });

async function fetchCrl(app: App, mount_id: string) {
  const crl = await readCrl(app, mount_id, 'default');
  assert.ok(crl);
  const serials = [...parseCrl(crl.der).entries()].map((entry) => formatSerial(entry.serialNumber));
  return { number: crl.number, serials };
}

/** Another node: the same database, a clock of its own, and something that happens before it writes. */
function nodeBeside(app: App, ahead_ms: number, beforeCommit: () => Promise<void>): App {
  const commit: App['store']['commit'] = async (effects) => {
    await beforeCommit();
    return app.store.commit(effects);
  };
  return { ...app, now: () => app.now() + ahead_ms, store: { ...app.store, commit } };
}

eachEngine('lists built by two nodes at once', (open) => {
  for (const ahead_ms of [5000, -5000]) {
    const clock = ahead_ms > 0 ? 'ahead' : 'behind';
    test(`never take a revocation back when the slower one's clock is ${clock}`, async () => {
      const { app } = await openTestApp(await open());
      const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
      const input = { exported: 'internal', common_name: 'Root', key_type: 'ec' };
      const { data } = await generateRoot(app, testCaller(mount), rootInput.parse(input));
      await writeCrlConfig(app, testCaller(mount), { auto_rebuild: true });
      const { number: before } = await fetchCrl(app, mount.id);

      let quicker: Awaited<ReturnType<typeof fetchCrl>> | undefined;
      const slow = nodeBeside(app, ahead_ms, async () => {
        if (quicker !== undefined) return;
        quicker = { number: 0, serials: [] };
        const revocation = { issuer_id: data.issuer_id, revoked_at_ms: app.now(), reason: 0 };
        await app.store.commit(insertRevocation(mount.id, { serial: '0a:0b', ...revocation }));
        await rotateCrls(app, testCaller(mount));
        quicker = await fetchCrl(app, mount.id);
      });
      await rotateCrls(slow, testCaller(mount));

      assert.ok(quicker && quicker.number > before);
      assert.deepEqual(quicker.serials, ['0a:0b']);
      const last = await fetchCrl(app, mount.id);
      assert.deepEqual(last.serials, ['0a:0b']);
      assert.ok(last.number >= quicker.number);
    });
  }
});
