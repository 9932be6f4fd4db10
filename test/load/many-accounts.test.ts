// Users may have dozens of accounts each: what a list shows of them is read without the rest, of some users at a time.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { userDefinition } from '../../src/broker/iam/users/operations.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const USERS = 1_000;
const ACCOUNTS = 64;

/** An id with a number of seven digits behind it. */
const suffixed = sql`${sql.ref('id')} || (1000000 + n.i)`;

interface ShownUser {
  id: string;
  account_ids?: string[];
  login_name?: string;
  primary_account_id?: string;
}

eachPlace('users with many accounts', (newPlace) => {
  let broker: Broker;
  let [user, account] = ['', ''];
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  before(async () => {
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, {
      place: await newPlace(),
      on_one: 'what the program does is counted',
    });
    const { make, admin, client } = broker;
    const method = await make('auth-methods', { scope_id: broker.org, type: 'password' });
    const primary = { version: 1, primary_auth_method_id: method };
    assert.equal((await admin('PATCH', `scopes/${broker.org}`, primary)).status, 200);
    const other = await make('auth-methods', { scope_id: broker.org, type: 'password' });
    user = await make('users', { scope_id: broker.org, name: 'u', description: 'd'.repeat(1_000) });
    account = await make('accounts', {
      auth_method_id: method,
      attributes: { login_name: 'somebody' },
    });
    const { store } = client.running.app;
    // The last is the newest, and all are newer than what is copied.
    const created_ms = sql`${sql.ref('created_ms')} + n.i`;
    const changes = { id: suffixed, name: numbered('name'), created_ms };
    await copyRow(store, 'resource', { of: { id: user }, copies: USERS, changes });
    // The one of the primary auth method is the last of each user's, of whom every tenth has none.
    const of = { id: account };
    const owned = {
      owner_id: sql`${sql.lit(user)} || (1000001 + (n.i - 1) / ${sql.lit(ACCOUNTS)})`,
      container_id: sql`case when n.i % ${sql.lit(ACCOUNTS)} = 0
        and (n.i - 1) / ${sql.lit(ACCOUNTS)} % 10 <> 9
        then ${sql.ref('container_id')} else ${sql.lit(other)} end`,
      description: sql.lit('d'.repeat(1_000)),
      created_ms: sql`${sql.ref('created_ms')} - n.i % 3`,
    };
    const copies = USERS * ACCOUNTS;
    await copyRow(store, 'resource', {
      of,
      copies,
      changes: { ...owned, id: suffixed, unique_key: numbered('unique_key') },
    });
  });

  test('a thousand of them with as many as may be hold nobody up in their list', async () => {
    await holdsNobodyUp(async () => {
      const path = `users?scope_id=${broker.org}&page_size=1000`;
      const list = await broker.admin('GET', path);
      assert.equal(list.status, 200, list.text.slice(0, 300));
      const items = list.field('items') as ShownUser[];
      assert.equal(items.length, USERS);
      for (const { account_ids } of items.slice(0, 900))
        assert.equal(account_ids?.length, ACCOUNTS);
    });
  });

  const ROUNDS: [page_size: number, shown_at_once: number[]][] = [
    [199, [200]],
    [200, [200, 1]],
    [999, [200, 200, 200, 200, 200]],
  ];
  for (const [page_size, wanted] of ROUNDS) {
    test(`of a page of ${page_size} with the first of the next no more than 200 are shown at once`, async (t) => {
      const { describe } = userDefinition;
      const sizes: number[] = [];
      t.mock.method(userDefinition, 'describe', (...given: Parameters<typeof describe>) => {
        sizes.push(given[2].length);
        return describe(...given);
      });
      const path = `users?scope_id=${broker.org}&page_size=${page_size}`;
      const list = await broker.admin('GET', path);
      assert.equal((list.field('items') as ShownUser[]).length, page_size);
      assert.deepEqual(sizes, wanted);
    });
  }

  const CASES: [name: string, place: number, primary: boolean][] = [
    ['the first but one', 1, true],
    ['one of the second that are read at once', 65, true],
    ['one of the second that are shown at once', 201, true],
    ['one without an account of the primary auth method', 10, false],
  ];
  for (const [name, place, hasPrimary] of CASES) {
    const number = USERS - 1 - place;
    test(`a list shows the same accounts as the user itself does: ${name}`, async () => {
      const id = `${user}${1_000_001 + number}`;
      const path = `users?scope_id=${broker.org}&page_size=1000`;
      const items = (await broker.admin('GET', path)).field('items') as ShownUser[];
      const listed = items[place];
      assert.equal(listed?.id, id);
      const of = (at: number): string => `${account}${1_000_001 + number * ACCOUNTS + at}`;
      const all = Array.from({ length: ACCOUNTS }, (_, at) => at);
      const ageOf = (at: number): number => (number * ACCOUNTS + at + 1) % 3;
      // The oldest first, of those of one instant by their ids.
      all.sort((a, b) => ageOf(b) - ageOf(a) || a - b);
      assert.deepEqual(listed.account_ids, all.map(of));
      assert.deepEqual(
        (await broker.admin('GET', `users/${id}`)).field('account_ids'),
        listed.account_ids,
      );
      assert.equal(listed.login_name, hasPrimary ? 'somebody' : undefined);
      assert.equal(listed.primary_account_id, hasPrimary ? of(ACCOUNTS - 1) : undefined);
    });
  }
});
