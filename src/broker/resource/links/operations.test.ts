import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../../test/support/app.ts';
import { countCommitting } from '../../../../test/support/committing.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import type { Store } from '../../../store/store.ts';
import { groupDefinition } from '../../iam/groups/operations.ts';
import type { BrokerCaller } from '../caller.ts';
import { GrantSet } from '../grants/decision.ts';
import type { Resource } from '../resource.ts';
import { insertResource } from '../store.ts';
import { changeLinks } from './operations.ts';
import { countLinksFrom, insertLinks } from './store.ts';

const MANY = 2_500;
const idOf = (prefix: string, at: number): string => `${prefix}_${`${at}`.padStart(10, '0')}`;
const USERS = Array.from({ length: MANY + 20 }, (_, at) => idOf('u', at));
const AT_ONCE = 12;

const caller = (): BrokerCaller => ({
  ...testCaller(testMount({ kind: 'secret', path: 'broker/', type: 'broker' })),
  who: {
    ...{ user_id: 'u_anon', account_id: '', auth_method_id: '', auth_token_id: '' },
    grants: new GrantSet('anonymous', []),
  },
});

/** As many changes of groups with so many members; answers how many were under way at once, and how they ended. */
async function changeAtOnce(
  store: Store,
  { groups, members, sent }: { groups: number; members: number; sent: number },
) {
  const { app } = await openTestApp(store);
  const made: Resource[] = Array.from({ length: groups }, (_, at) =>
    makeResource(idOf('g', at), { scope_id: 'global' }),
  );
  const users = USERS.map((id) => makeResource(id, { scope_id: 'global' }));
  await store.commit([...users, ...made].map(insertResource));
  const kind = 'group-member';
  for (const { id: from_id } of made) {
    const links = insertLinks({ from_id, kind, to_ids: USERS.slice(0, members) });
    if (members > 0) await store.commit(links);
  }
  const { counting, most } = countCommitting(app);
  const change = (at: number) => {
    const resource = made[at % groups] ?? assert.fail();
    const ids = USERS.slice(MANY - sent + 1 + at, MANY + 1 + at);
    return changeLinks(counting, caller(), groupDefinition, {
      ...{ resource, kind, ids, field: 'member_ids', change: 'set' },
      faultOf: (id) => id,
    });
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, at) => change(at)));
  const counts = new Set<number>();
  for (const { id: from_id } of made) {
    counts.add(await countLinksFrom(store.db, { from_id, kind }, MANY));
  }
  const done = ends.filter(({ status }) => status === 'fulfilled').length;
  return { most: most(), done, counts: [...counts] };
}

eachEngine('links that are changed by many at once', (open) => {
  for (const [of, most, why] of [
    [{ groups: AT_ONCE, members: 10, sent: 1 }, AT_ONCE, 'those of few wait for nobody'],
    [{ groups: 1, members: 10, sent: 1 }, AT_ONCE, 'nor do those of the same few'],
    [{ groups: AT_ONCE, members: 500, sent: 1 }, 8, 'of more some are listed at once'],
    [{ groups: 1, members: 500, sent: 1 }, 1, 'of the same one'],
    [{ groups: AT_ONCE, members: MANY, sent: 1 }, 2, 'of many few'],
    [{ groups: 1, members: MANY, sent: 1 }, 1, 'of the same one'],
    [{ groups: AT_ONCE, members: 0, sent: MANY }, 2, 'where many are asked for as well'],
    [{ groups: 1, members: 0, sent: MANY }, 1, 'for the same one'],
  ] as const) {
    test(`${why}: ${of.members} and ${of.sent} of ${of.groups}`, async () => {
      const found = await changeAtOnce(await open(), of);
      assert.ok(found.most <= most && found.most > most / 4, `${found.most} of ${most}`);
      assert.equal(found.done, of.groups, 'each version is changed once');
      assert.deepEqual(found.counts, [of.sent]);
    });
  }
});
