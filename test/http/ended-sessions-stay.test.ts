// Whoever a user of the broker was may go, and the user stays: sessions that go on end, and those that had
// ended stay as they are, however many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker } from '../support/seeded-broker.ts';

const TARGET = 'targets/ttcp_1234567890:authorize-session';
const GRANTS = ['ids=*;type=target;actions=authorize-session'];

interface Row {
  status: string;
  owner_id: string;
}

eachPlace('sessions that have ended', (newPlace) => {
  async function open(t: { after(stop: () => Promise<void>): void }, ended: number) {
    const broker = await startBroker(t, { place: await newPlace() });
    const { client } = broker;
    const { store, db } = client.running.app;
    const person = await broker.person(GRANTS);
    const made = await person.call('POST', TARGET, {});
    const of = { id: made.textAt('session_id') };
    const changes = { id: numbered('id') };
    await copyRow(store, 'resource', { of, copies: ended, changes });
    await copyRow(store, 'session', {
      of,
      copies: ended,
      changes: { ...changes, status: sql.lit('terminated') },
    });
    const self = await client.call('GET', 'auth/token/lookup-self', undefined, {
      token: person.token,
    });
    const sessions = (): Promise<Row[]> =>
      db
        .selectFrom('session')
        .innerJoin('resource', 'resource.id', 'session.id')
        .select(['session.status', 'resource.owner_id'])
        .orderBy('session.id')
        .execute();
    const before = await sessions();
    assert.equal(before.filter(({ status }) => status === 'pending').length, 1);
    assert.equal(before.length, ended + 1);
    return { broker, client, person, entity_id: self.textAt('data.entity_id'), sessions, before };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  const GONE: Record<string, (opened: Opened) => Promise<number>> = {
    'the entity that the user is': async ({ client, entity_id }) =>
      (await client.call('DELETE', `identity/entity/id/${entity_id}`)).status,
    'the entity, with others': async ({ client, entity_id }) =>
      (await client.call('POST', 'identity/entity/batch-delete', { entity_ids: [entity_id] }))
        .status,
    'the alias by which an entity is the user': async ({ client, entity_id }) => {
      const { id } = Object(
        (await client.call('GET', `identity/entity/id/${entity_id}`)).field('data.aliases.0'),
      );
      return (await client.call('DELETE', `identity/entity-alias/id/${id}`)).status;
    },
  };

  for (const [what, end] of Object.entries(GONE)) {
    for (const ended of [8, 1508]) {
      test(`stay the user's once ${what} is removed: ${ended} of them`, async (t) => {
        const opened = await open(t, ended);
        const { broker, person, before, sessions } = opened;
        assert.equal(await end(opened), 204);
        assert.equal((await broker.admin('GET', `users/${person.user_id}`)).status, 200);
        const after = await sessions();
        assert.equal(after.length, before.length);
        for (const { status, owner_id } of after) {
          assert.equal(owner_id, person.user_id);
          // The one that went on, which a job ends for good.
          assert.match(status, /^(canceling|terminated)$/);
        }
      });
    }
  }

  for (const ended of [8, 1508]) {
    test(`are nobody's once the user is removed: ${ended} of them`, async (t) => {
      const { broker, person, sessions } = await open(t, ended);
      assert.equal((await broker.admin('DELETE', `users/${person.user_id}`)).status, 204);
      const owners = new Set((await sessions()).map(({ owner_id }) => owner_id));
      assert.deepEqual([...owners], ['']);
    });
  }
});
