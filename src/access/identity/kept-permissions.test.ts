import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { ROOMS } from '../../core/rooms.ts';
import { writeGroup } from './groups/operations.ts';
import { newEntity, readPermissions } from './operations.ts';
import { insertEntity } from './store.ts';

const ENTITIES = 1000;
/** As many names as an entity may have by its groups, of policies that need not be there. */
const POLICIES = Array.from({ length: 1_000 }, (_, at) => `${'n'.repeat(50)}${at}`);

test('what somebody has many policies by is counted with what they permit', async (t) => {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app } = await openTestApp(await place.open());
  const caller = testCaller(await requireTestMount(app, 'auth/token/'));
  const entities = Array.from({ length: ENTITIES }, () =>
    newEntity(app, { metadata: {}, policies: [], disabled: false }),
  );
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
