// Sets that take long to write, and who waits for them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { doFor, noteAccount } from '../../src/core/fairness/asking.ts';
import { build } from '../../src/store/database.ts';
import { type Write, write } from '../../src/store/write.ts';
import { eachEngine } from '../support/engines.ts';

/** A statement that takes the writer some 20 ms, and says nothing of it by its length. */
const long = (): Write =>
  write(
    build
      .updateTable('permission_version')
      .set({
        version: sql<number>`version + 0 * (with recursive n (i) as (select 1 union all
          select i + 1 from n where i < 60000) select count(*) from n)`,
      })
      .where('version', '>=', 0),
  );
const short = (): Write =>
  write(build.updateTable('permission_version').set({ version: sql<number>`version + 1` }));

type Commit = (effects: Write[]) => Promise<void>;

function commitBy(commit: Commit, address: string, account: string, effects: Write[]) {
  return doFor(address, () => {
    noteAccount(account);
    return commit(effects);
  });
}

const others: [whose: string, address: string, account: string][] = [
  ['another address', '198.51.100.2', 'other'],
  ['another account at the same address', '198.51.100.1', 'other'],
  ['the server itself', '', ''],
];

eachEngine('long sets', (open) => {
  for (const [whose, address, account] of others) {
    test(`a set of ${whose} does not wait for all that came before it`, async () => {
      const { commit } = await open();
      let done = 0;
      const flood = Array.from({ length: 60 }, () =>
        commitBy(commit, '198.51.100.1', 'flood', [long(), long()]).then(() => {
          done += 1;
        }),
      );
      // Batches become as small as these sets are long.
      await Promise.race(flood);
      for (let again = 0; again < 3; again++) {
        const before = done;
        await commitBy(commit, address, account, [short()]);
        assert.ok(done - before < 12, `${done - before} of the flood were written before it`);
      }
      await Promise.all(flood);
    });
  }
});
