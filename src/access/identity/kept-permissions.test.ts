import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { ROOMS } from '../../core/rooms.ts';
import { readPermissions } from '../permissions/operations.ts';
import { insertEntity } from './entities.store.ts';
import { writeGroup } from './groups.operations.ts';
import { newEntity } from './operations.ts';
import { type Person, weighPerson } from './persons.operations.ts';

const ENTITIES = 1000;
/** As many names as an entity may have by its groups, of policies that need not be there. */
const POLICIES = Array.from({ length: 1_000 }, (_, at) => `${'n'.repeat(50)}${at}`);

test('what somebody has many policies by is counted with what they permit', async (t) => {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app } = await openTestApp(await place.open());
  const caller = testCaller(await requireTestMount(app, 'auth/token/'));
  const entities = Array.from({ length: ENTITIES }, () => newEntity(app));
  await app.commit(caller, entities.flatMap(insertEntity));
  const member_entity_ids = entities.map(({ id }) => id);
  await writeGroup(app, caller, { id: '', name: 'team', policies: POLICIES, member_entity_ids });
  const before = heapUsed();
  for (const { id } of entities) {
    const permissions = await readPermissions(app, { policies: [], entity_id: id });
    assert.equal(permissions?.identity_policies.length, POLICIES.length);
  }
  const grown = heapUsed() - before;
  // Beside what is kept of people: most of them are forgotten, as the names are counted with each.
  const room = ROOMS.persons + ROOMS.permissions / 2;
  assert.ok(grown < room, `${grown >> 20} MiB`);
});

test('people weigh what they take with all their aliases', () => {
  const aliases = (of: number): string[] =>
    Array.from({ length: 100 }, (_, at) => `12345678-${1000 + of}-${1000 + at}-123456789012`);
  const makePerson = (of: number): Person => {
    const told = aliases(of).map((id) => [
      `auth_userpass_${id.slice(-8)}${id.slice(9, 18)}`,
      JSON.parse(`{"id":"${id}","name":"n${id}","metadata":{},"custom_metadata":{}}`),
    ]);
    const entity = { id: `e${of}`, name: `n${of}`, metadata: {}, policies: [], disabled: false };
    return {
      entity: { ...entity, version: 1, created_at_ms: 0, updated_at_ms: 0 },
      policies: [],
      facts: { entity: { ...entity, aliases: Object.fromEntries(told) }, groups: [] },
      alias_moves: new Map(aliases(of).map((id) => [id, 0])),
    };
  };
  const before = heapUsed();
  const people = Array.from({ length: 100 }, (_, of) => makePerson(of));
  const grown = heapUsed() - before;
  const weighed = people.reduce((sum, person) => sum + weighPerson({ person }), 0);
  assert.ok(grown < 1.1 * weighed, `${grown} bytes weigh ${weighed}`);
});
