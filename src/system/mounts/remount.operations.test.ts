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
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { readRemount, remount } from './remount.operations.ts';

const enable = (app: App, path: string): Promise<void> =>
  enableTestMount(app, { kind: 'secret', path, type: 'pki' });

eachEngine('what is remembered of moved mounts', (open) => {
  test('is so for a day, and goes with later moves, some at a time', async () => {
    const { app, clock } = await openTestApp(await open());
    await enable(app, 'p');
    const places = ['p', 'q'];
    const move = async (): Promise<string> => {
      const [from = '', to = ''] = places;
      places.reverse();
      const caller = testCaller(await requireTestMount(app, 'sys/'));
      const { data } = await remount(app, caller, { from, to });
      return String((data as { migration_id: string }).migration_id);
    };
    const first = await move();
    clock.now += 24 * 3600;
    const second = await move();
    assert.ok(await readRemount(app, { id: first }), 'a day is not over before its end');
    clock.now += 1;
    await move();
    await assert.rejects(readRemount(app, { id: first }), Failure);
    assert.ok(await readRemount(app, { id: second }));
    const copies = 250;
    await copyRow(app.store, 'remount', {
      of: { id: second },
      copies,
      changes: { id: numbered('id'), moved_at: sql`0` },
    });
    const left: number[] = [];
    for (let n = 0; n < 3; n++) {
      await move();
      left.push((await app.db.selectFrom('remount').select('id').execute()).length);
    }
    assert.deepEqual(left, [copies + 2 - 100 + 1, copies + 2 - 200 + 2, 5]);
  });
});
