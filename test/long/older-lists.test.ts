// Lists that an older program kept may be longer than what is taken today.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { startBroker } from '../support/seeded-broker.ts';

const LONG = Array.from({ length: 900 }, (_, at) => `policy-${at}-`.padEnd(80, 'x'));

type Kept = [
  what: string,
  table: 'userpass_user' | 'approle_role' | 'token_role',
  path: string,
  fields: object,
  lists: Record<string, string[]>,
];

const KEPT: Kept[] = [
  ['a user', 'userpass_user', 'auth/up/users/u', { password: 'p' }, { token_policies: LONG }],
  ['a role', 'approle_role', 'auth/ar/role/r', {}, { token_policies: LONG }],
  [
    'a token role',
    'token_role',
    'auth/token/roles/r',
    {},
    { allowed_policies: LONG, disallowed_policies_glob: LONG },
  ],
];

/** A server with a record as an older program kept it. */
async function keep(t: TestContext, place: Place, [, table, path, fields, lists]: Kept) {
  const { client } = await startBroker(t, { place });
  const { store, db } = client.running.app;
  await client.call('POST', 'sys/auth/up', { type: 'userpass' });
  await client.call('POST', 'sys/auth/ar', { type: 'approle' });
  await client.call('POST', path, fields);
  const row = await db.selectFrom(table).select('body').executeTakeFirstOrThrow();
  const body = JSON.stringify({ ...JSON.parse(row.body), ...lists });
  await store.commit([write(build.updateTable(table).set({ body }), { rows: 1 })]);
  return client;
}

eachPlace('lists that are longer than what is taken today', (newPlace) => {
  for (const kept of KEPT) {
    const [what, , path, , lists] = kept;
    test(`of ${what} are read, outlast other changes, become less, and are not written`, async (t) => {
      const client = await keep(t, await newPlace(), kept);
      const lengths = async (): Promise<unknown[]> => {
        const read = await client.call('GET', path);
        assert.equal(read.status, 200, read.text);
        return Object.keys(lists).map((name) => read.field(`data.${name}.length`));
      };
      const whole = Object.values(lists).map((list) => list.length);
      assert.deepEqual(await lengths(), whole);
      const other = await client.call('POST', path, { token_num_uses: 3 });
      assert.equal(other.status, 204, other.text);
      assert.deepEqual(await lengths(), whole);
      for (const [name, list] of Object.entries(lists)) {
        const again = await client.call('POST', path, { [name]: list });
        assert.equal(again.status, 400, `${name} written anew`);
        const less = await client.call('POST', path, { [name]: list.slice(0, 2) });
        assert.equal(less.status, 204, less.text);
      }
      assert.deepEqual(
        await lengths(),
        whole.map(() => 2),
      );
    });

    test(`of ${what} go with it`, async (t) => {
      const client = await keep(t, await newPlace(), kept);
      assert.equal((await client.call('DELETE', path)).status, 204);
      assert.equal((await client.call('GET', path)).status, 404);
    });
  }
});
