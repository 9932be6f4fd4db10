import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount } from '../../../test/support/app.ts';
import { connectTo, eachPlace, urlOf } from '../../../test/support/engines.ts';
import { TransactionHolder } from '../../../test/support/held-transaction.ts';
import type { Footing } from '../../app/standing.ts';
import { findPermissionVersion } from '../../store/permission-version.ts';
import { prepareRootToken } from '../tokens/minting.operations.ts';
import { holdFooting, takeFooting } from './store.ts';

const FOOTINGS: [name: string, of: { has_line: boolean; mount: boolean }][] = [
  ['a token', { has_line: false, mount: false }],
  ['a token and a mount', { has_line: false, mount: true }],
  ['a token with others above', { has_line: true, mount: false }],
  ['a token with others above, and a mount', { has_line: true, mount: true }],
];

eachPlace('whoever changes what is permitted', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  for (const [name, { has_line, mount: has_mount }] of FOOTINGS) {
    test(`does not wait in a circle with those who rest on ${name}`, async (t) => {
      const place = await newPlace();
      const store = await place.open();
      const { app } = await openTestApp(store);
      const { id, path } = await requireTestMount(app, 'sys/');
      const { token, effects } = prepareRootToken(app);
      await store.commit(effects);
      const footing: Footing = {
        token,
        has_line,
        mount: has_mount ? { id, path } : undefined,
        version: await findPermissionVersion(store.db),
      };

      const changer = await connectTo(place);
      const watch = await TransactionHolder.open(urlOf(place));
      t.after(async () => {
        await changer.end();
        await watch.close();
      });

      const [takeVersion, ...others] = takeFooting(footing);
      assert.ok(takeVersion);
      await changer.query('begin');
      await changer.query(takeVersion.sql, [...takeVersion.parameters]);
      let answered = false;
      const resting = store.commit(holdFooting(footing)).finally(() => {
        answered = true;
      });
      await watch.untilWaiting('test', () => answered);
      assert.equal(answered, false);
      // What the other one may have is had at once, also to remove it.
      await changer.query('set local lock_timeout = 1');
      for (const { sql, parameters } of others) await changer.query(sql, [...parameters]);
      await changer.query('select id from token where id = $1 for update', [token.id]);
      await changer.query('select id from mount where id = $1 for update', [id]);
      await changer.query('rollback');
      await resting;
    });
  }
});
