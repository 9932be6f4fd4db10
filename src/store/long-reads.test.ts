import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { savePolicy } from '../access/policies/store.ts';
import { doRequest, whoAsks } from '../core/fairness/asking.ts';
import type { Db } from './database.ts';

/** Whoever has read much most likely holds it: that is noted, so that few do so once the heap is scarce. */

const LONG = 64 << 10;
const bodies = (db: Db) => db.selectFrom('policy').select('body');

const READS: [how: string, lengths: number[], read: (db: Db) => Promise<unknown>, noted: number][] =
  [
    ['a row', [LONG], (db) => bodies(db).executeTakeFirst(), 0],
    ['a long row', [LONG + 1], (db) => bodies(db).executeTakeFirst(), LONG + 1],
    ['rows', [LONG / 2, LONG / 2], (db) => bodies(db).execute(), 0],
    ['rows that are long together', [LONG, 9], (db) => bodies(db).execute(), LONG + 9],
    ['nothing', [], (db) => bodies(db).execute(), 0],
  ];

eachEngine('what is read for a request', (open) => {
  for (const [how, lengths, read, noted] of READS) {
    test(`${noted} characters are noted of ${how}`, async () => {
      const store = await open();
      const policies = lengths.map((length, at) =>
        savePolicy({ name: `p${at}`, body: 'b'.repeat(length), modified_at: 0 }),
      );
      await store.commit(policies);
      await doRequest('192.0.2.1', async () => {
        await read(store.db);
        assert.equal(whoAsks().read, noted);
        await read(store.db);
        assert.equal(whoAsks().read, 2 * noted);
      });
    });
  }
});
