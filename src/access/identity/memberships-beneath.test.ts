import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine, type Open } from '../../../test/support/engines.ts';
import { Failure } from '../../core/failure.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Write } from '../../store/write.ts';
import { insertEntity } from './entities.store.ts';
import type { Entity } from './entity.ts';
import type { Group } from './group.ts';
import { writeGroup } from './groups.operations.ts';
import { insertGroup } from './groups.store.ts';
import { replaceMembers } from './memberships.store.ts';

const TIMES = { version: 1, created_at_ms: 0, updated_at_ms: 0 };

const named = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${word}${at}`);

const entityOf = (id: string, policies: string[] = []): Entity => ({
  ...{ ...TIMES, id, name: id, metadata: {}, disabled: false },
  policies,
});

const groupOf = (id: string, policies: string[] = []): Group => ({
  ...{ ...TIMES, id, name: id, metadata: {}, type: 'internal' as const },
  policies,
});

/**
 * Ann has 300 policies of her own, and 300 by "ops", which is in "all" with 300. In "old" somebody has more
 * than are read, from before. "mine" has 50; nobody is in it, nor in "above", which it is in, with 50.
 */
async function openWith(open: Open, more: readonly Write[] = []) {
  const { app } = await openTestApp(await open());
  await app.store.commit([
    ...[
      entityOf('ann', named('own', 300)),
      entityOf('bob'),
      entityOf('full', named('own', 900)),
    ].map(insertEntity),
    ...[
      groupOf('ops', named('ops', 300)),
      groupOf('all', named('all', 300)),
      groupOf('empty'),
      groupOf('old', named('old', 900)),
      groupOf('mine', named('mine', 50)),
      groupOf('above', named('above', 50)),
    ].map(insertGroup),
    ...replaceMembers('ops', 'entity', ['ann']),
    ...replaceMembers('all', 'group', ['ops']),
    ...replaceMembers('empty', 'group', ['all']),
    ...replaceMembers('old', 'entity', ['full']),
    ...replaceMembers('above', 'group', ['mine']),
    ...more,
    ...bumpPermissionVersion(),
  ]);
  const caller = testCaller(await requireTestMount(app, 'auth/token/'));
  return (sent: Omit<Parameters<typeof writeGroup>[2], 'name'>) =>
    writeGroup(app, caller, { name: '', ...sent });
}

type Sent = Omit<Parameters<typeof writeGroup>[2], 'name'>;

const TOO_MANY = /at most 1000 policies/;

const changes: [what: string, sent: Sent[], refused?: RegExp][] = [
  ['takes in who then has 1,000', [{ id: 'mine', member_entity_ids: ['ann'] }]],
  [
    'takes in who then has 1,001',
    [{ id: 'mine', policies: named('mine', 51), member_entity_ids: ['ann'] }],
    /^member_entity_ids: "ann": .* at most 1000 policies/,
  ],
  ['takes in a group whose members then have 1,000', [{ id: 'mine', member_group_ids: ['ops'] }]],
  [
    'takes in a group whose members then have 1,001',
    [
      { id: 'mine', policies: named('mine', 51) },
      { id: 'mine', member_group_ids: ['ops'] },
    ],
    /^member_group_ids: somebody in the group: .* at most 1000 policies/,
  ],
  [
    'takes in a group with another beneath whose members then have 1,001',
    [
      { id: 'mine', policies: named('mine', 51) },
      { id: 'mine', member_group_ids: ['all'] },
    ],
    /^member_group_ids: somebody/,
  ],
  [
    'gives those beneath it 1,001',
    [
      { id: 'mine', member_group_ids: ['empty'] },
      { id: 'mine', policies: named('mine', 51) },
    ],
    /^policies: somebody in the group: .* at most 1000 policies/,
  ],
  [
    'gives those beneath it other policies, of which they then have 1,000',
    [
      { id: 'mine', member_group_ids: ['empty'] },
      { id: 'mine', policies: named('other', 50) },
    ],
  ],
  [
    'gives those beneath it what they have anyway',
    [
      { id: 'mine', member_group_ids: ['empty'] },
      { id: 'mine', policies: [...named('mine', 50), ...named('ops', 300)] },
    ],
  ],
  [
    'gives too many and lets go of those beneath it',
    [
      { id: 'mine', member_group_ids: ['empty'], member_entity_ids: ['ann'] },
      { id: 'mine', policies: named('mine', 51), member_group_ids: [], member_entity_ids: ['bob'] },
    ],
  ],
  [
    'gives too many and lets go of its groups alone',
    [
      { id: 'mine', member_group_ids: ['empty'], member_entity_ids: ['ann'] },
      { id: 'mine', policies: named('mine', 51), member_group_ids: [] },
    ],
    TOO_MANY,
  ],
  [
    'is beneath one that gives more',
    [
      { id: 'mine', member_group_ids: ['empty'] },
      { id: 'above', policies: named('above', 51) },
    ],
    TOO_MANY,
  ],
  ['gives fewer to who has too many from before', [{ id: 'old', policies: named('old', 899) }]],
  ['gives others to who has too many from before', [{ id: 'old', policies: named('new', 50) }]],
  ['gives more to who has too many from before', [{ id: 'old', policies: named('old', 901) }]],
];

eachEngine('who is beneath a group that changes', (open) => {
  for (const [what, sent, refused] of changes) {
    test(`a group that ${what} is ${refused ? 'refused' : 'stored'}`, async () => {
      const change = await openWith(open);
      for (const each of sent.slice(0, -1)) await change(each);
      const last = sent.at(-1);
      assert.ok(last);
      if (!refused) return void (await change(last));
      await assert.rejects(
        change(last),
        (error) =>
          error instanceof Failure && error.kind === 'invalid' && refused.test(error.message),
      );
    });
  }

  // Ann, who has 900 already, comes last.
  for (const [many, last, count, refused] of [
    [9_999, 'ann', 100, undefined],
    [9_999, 'ann', 101, TOO_MANY],
    [9_999, 'bob', 101, undefined],
    [10_000, 'ann', 100, undefined],
    [10_000, 'ann', 101, /policies: a group gives at most 100 to more than 10000 entities/],
  ] as const) {
    const verb = refused ? 'is not' : 'is';
    test(`to ${many} and ${last}, all by other groups, a group ${verb} made to give ${count} policies`, async () => {
      const ids = named('e', many);
      const parts = Array.from({ length: 10 }, (_, at) => ids.slice(at * 1000, (at + 1) * 1000));
      const change = await openWith(open, [
        ...ids.map((id) => insertEntity(entityOf(id))),
        ...[...parts, [last]].flatMap((part, at) => [
          insertGroup(groupOf(`part${at}`)),
          ...replaceMembers(`part${at}`, 'entity', part),
        ]),
        insertGroup(groupOf('wide')),
        ...replaceMembers('wide', 'group', named('part', parts.length)),
        ...replaceMembers('part9', 'group', ['part10']),
      ]);
      const giving = change({ id: 'wide', policies: named('wide', count) });
      if (refused) await assert.rejects(giving, refused);
      else await giving;
    });
  }
});
