import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller } from '../../../test/support/app.ts';
import { makeIssuer } from '../../../test/support/crl-mounts.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { COMPLETE, DELTA } from '../../pki/crl/kind.ts';
import { readCrl } from '../../pki/crl/operations.ts';
import { rotateCrls } from '../../pki/crl/rotation.operations.ts';
import { writeCrlConfig } from '../../pki/crl/settings.operations.ts';
import { build } from '../../store/database.ts';
import { write } from '../../store/write.ts';
import { outdateCrls } from './restore.ts';

const DAY_S = 86_400;

eachEngine('CRLs of a backup', (open) => {
  test('no number comes again after a restore, though the clock goes back as well', async () => {
    const { app, clock } = await openTestApp(await open());
    const { mount } = await makeIssuer(app);
    await writeCrlConfig(app, testCaller(mount), { auto_rebuild: true, enable_delta: true });
    const numberOf = async (kind = COMPLETE): Promise<number> =>
      (await readCrl(app, mount.id, 'default', kind))?.number ?? 0;
    let most = 0;
    for (const back_days of [400, 800]) {
      await numberOf(DELTA);
      const kept = await app.db.selectFrom('pki_crl').selectAll().execute();
      // What is given out after the backup.
      clock.now += 365 * DAY_S;
      await rotateCrls(app, testCaller(mount));
      most = Math.max(most, await numberOf(), await numberOf(DELTA));
      await app.store.commit([
        write(build.deleteFrom('pki_crl')),
        ...kept.map((row) => write(build.insertInto('pki_crl').values(row))),
        outdateCrls,
      ]);
      clock.now -= back_days * DAY_S;
      for (const kind of [COMPLETE, DELTA]) {
        const number = await numberOf(kind);
        assert.ok(number > most, `${number} after ${most}`);
        most = number;
      }
    }
  });
});
