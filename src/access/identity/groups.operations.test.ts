import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { countCommitting } from '../../../test/support/committing.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { Store } from '../../store/store.ts';
import { insertEntity } from './entities.store.ts';
import { writeGroup } from './groups.operations.ts';
import { newEntity } from './operations.ts';

const AT_ONCE = 12;
const mount = testMount({ kind: 'secret', path: 'identity/', type: 'identity' });

/** As many changes of the members of groups; answers how many were under way at once. */
async function changeAtOnce(
  store: Store,
  { groups, members, sent }: { groups: number; members: number; sent: number },
): Promise<number> {
  const { app } = await openTestApp(store);
  const entities = Array.from({ length: Math.max(members, sent) }, () => newEntity(app));
  await store.commit(entities.map(insertEntity));
  const ids = entities.map(({ id }) => id);
  const nameOf = (at: number): string => `g${at % groups}`;
  for (let at = 0; at < groups; at++) {
    const member_entity_ids = ids.slice(0, members);
    await writeGroup(app, testCaller(mount), { id: '', name: nameOf(at), member_entity_ids });
  }
  const { counting, most } = countCommitting(app);
  const member_entity_ids = ids.slice(0, sent);
  const change = (at: number) =>
    writeGroup(counting, testCaller(mount), { id: '', name: nameOf(at), member_entity_ids });
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, at) => change(at)));
  assert.ok(ends.some(({ status }) => status === 'fulfilled'));
  return most();
}

eachEngine('groups that are changed by many at once', (open) => {
  for (const [of, most, why] of [
    [{ groups: AT_ONCE, members: 10, sent: 1 }, AT_ONCE, 'those of few wait for nobody'],
    [{ groups: 1, members: 10, sent: 1 }, AT_ONCE, 'nor do those of the same few'],
    [{ groups: AT_ONCE, members: 100, sent: 1 }, 8, 'of more some are listed at once'],
    [{ groups: 1, members: 100, sent: 100 }, 1, 'of the same one'],
    [{ groups: AT_ONCE, members: 500, sent: 1 }, 2, 'of many few'],
    [{ groups: 1, members: 500, sent: 500 }, 1, 'of the same one'],
    [{ groups: AT_ONCE, members: 0, sent: 500 }, 2, 'where many are named as well'],
  ] as const) {
    test(`${why}: ${of.members} and ${of.sent} of ${of.groups}`, async () => {
      const counted = await changeAtOnce(await open(), of);
      assert.ok(counted <= most && counted > most / 4, `${counted} of ${most}`);
    });
  }
});
