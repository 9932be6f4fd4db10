import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import { listPoliciesNamed, measurePolicies } from '../access/policies/store.ts';
import { listLogInsByToken, listTokenRows } from '../broker/principals/log-ins.store.ts';
import { listAccountsOfUsers } from '../broker/principals/users.store.ts';
import { listLinksOfAll, listLinksToAll } from '../broker/resource/links/store.ts';
import { listConnectionsById, listOpenConnections } from '../broker/sessions/connections/store.ts';
import { listLatestStatus } from '../broker/vault/tokens/store.ts';
import type { Db } from './database.ts';
import { inBlocks } from './in-blocks.ts';

test('items are asked about some at a time, each once and in their order', async () => {
  const asked: number[] = [];
  const items = Array.from({ length: 1201 }, (_, at) => at);
  const answers = await inBlocks(items, async (some) => {
    asked.push(some.length);
    return [...some];
  });
  assert.deepEqual(answers, items);
  assert.deepEqual(asked, [500, 500, 201]);
  const down = await inBlocks(
    items,
    async (some) => some.toReversed(),
    (a, b) => b - a,
  );
  assert.deepEqual(down, items.toReversed());
  assert.deepEqual(await inBlocks([], async () => assert.fail('nothing to ask')), []);
});

/** Questions about lists that are stored, each of which may be long. */
const questions: Record<string, (db: Db, ids: readonly string[]) => Promise<unknown>> = {
  'policies by name': listPoliciesNamed,
  'how long policies are': measurePolicies,
  'rows of tokens': listTokenRows,
  'log-ins by their tokens': listLogInsByToken,
  'accounts of users': listAccountsOfUsers,
  'links from many': (db, ids) => listLinksOfAll(db, ids, ['host-set-host']),
  'links to many': (db, ids) => listLinksToAll(db, ids, 'host-set-host'),
  'connections by id': listConnectionsById,
  'open connections of workers': (db, ids) => listOpenConnections(db, ids, 10),
  'tokens of stores': listLatestStatus,
};

eachEngine('questions about more than one statement takes', (open) => {
  for (const [what, ask] of Object.entries(questions)) {
    test(what, async () => {
      const { app } = await openTestApp(await open());
      const ids = Array.from({ length: 70_000 }, (_, at) => `id-${at}`);
      await assert.doesNotReject(ask(app.db, ids));
    });
  }
});
