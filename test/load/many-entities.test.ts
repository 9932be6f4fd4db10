// Many entities are removed page by page: others write in between, and no write set is larger for their number.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { eachPlace, type Place } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { countPlaces } from '../support/places.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { rowsOf, SetSizes } from '../support/set-sizes.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const PAGE = 25;

interface Served extends Client {
  sizes: SetSizes;
  /** @returns the ids of so many entities */
  makeMany(count: number): Promise<string[]>;
  countEntities(): Promise<number>;
}

async function serve(t: TestContext, place: Place): Promise<Served> {
  const sizes = new SetSizes();
  const client = await startTestServer(t, {
    config: { storage: storageOf(place) },
    store: sizes.watch,
  });
  const { call, running } = client;
  const entities = running.app.db.selectFrom('identity_entity').select('id');
  return {
    ...client,
    sizes,
    async makeMany(count) {
      const made = await call('POST', 'identity/entity', { name: 'many' });
      const id = made.textAt('data.id');
      const changes = {
        id: numbered('id'),
        name: numbered('name'),
        name_key: numbered('name_key'),
      };
      await copyRow(running.app.store, 'identity_entity', {
        of: { id },
        copies: count - 1,
        changes,
      });
      return (await entities.where('name', 'like', '%many%').execute()).map((row) => row.id);
    },
    countEntities: async () => (await entities.execute()).length,
  };
}

eachPlace('entities', (newPlace) => {
  test('many are removed in small write sets, each with a record of those that it removed', async (t) => {
    const { call, running, sizes, makeMany, countEntities } = await serve(t, await newPlace());
    const ids = await makeMany(3 * PAGE + 7);
    const stays = await call('POST', 'identity/entity', { name: 'stays' });
    sizes.begin({ entities: rowsOf('identity_entity', sql`1 = 1`) });
    const entity_ids = ['none', ...ids, ...ids];
    const removed = await call('POST', 'identity/entity/batch-delete', { entity_ids });
    assert.equal(removed.status, 204, removed.text);
    assert.deepEqual(sizes.of('entities'), { most: PAGE, sets: 4 });
    assert.equal(await countEntities(), 1);
    assert.equal((await call('GET', `identity/entity/id/${stays.textAt('data.id')}`)).status, 200);
    const rows = await running.app.db
      .selectFrom('audit_entry')
      .select('record')
      .orderBy('seq')
      .execute();
    const records = rows
      .map(({ record }) => JSON.parse(record))
      .filter(({ request }) => request?.path === 'identity/entity/batch-delete');
    assert.deepEqual(
      records.map(({ request, response }) => [request.data.entity_ids.length, response.ending]),
      [
        [PAGE, true],
        [PAGE, true],
        [PAGE, true],
        [entity_ids.length, undefined],
      ],
    );
  });

  for (const [count, pages] of [
    [PAGE, 0],
    [PAGE + 1, 1],
    [3 * PAGE + 7, 3],
  ] as const) {
    test(`of ${count} that are removed ${pages} pages wait for their turn, and to write as the rest does`, async (t) => {
      const { call, makeMany } = await serve(t, await newPlace());
      const entity_ids = await makeMany(count);
      const places = countPlaces(t);
      const removed = await call('POST', 'identity/entity/batch-delete', { entity_ids });
      assert.equal(removed.status, 204, removed.text);
      assert.equal(places(), pages + (pages + 1));
    });
  }

  test('who removes many, himself among them, removes himself last', async (t) => {
    const { call, makeMany, countEntities } = await serve(t, await newPlace());
    const ids = await makeMany(2 * PAGE);
    const policy = 'path "identity/*" { capabilities = ["update", "delete"] }';
    await call('POST', 'sys/policies/acl/removes', { policy });
    await call('POST', 'sys/auth/up', { type: 'userpass' });
    // The default policy lets everybody read what they are, and so no more than that.
    const token_no_default_policy = true;
    const user = { password: 'secret-1', token_policies: 'removes', token_no_default_policy };
    await call('POST', 'auth/up/users/ann', user);
    const logIn = await call('POST', 'auth/up/login/ann', { password: user.password });
    const token = logIn.textAt('auth.client_token');
    const entity_ids = [logIn.textAt('auth.entity_id'), ...ids];
    const removed = await call('POST', 'identity/entity/batch-delete', { entity_ids }, { token });
    assert.equal(removed.status, 204, removed.text);
    assert.equal(await countEntities(), 0);
  });

  test('a thousand that are removed hold nobody up', async (t) => {
    const { call, makeMany, countEntities } = await serve(t, await newPlace());
    let entity_ids: string[] = [];
    const prepare = async (): Promise<void> => {
      entity_ids = await makeMany(1000);
    };
    await holdsNobodyUp(
      async () => {
        const removed = await call('POST', 'identity/entity/batch-delete', { entity_ids });
        assert.equal(removed.status, 204, removed.text);
      },
      { prepare },
    );
    assert.equal(await countEntities(), 0);
  });
});
