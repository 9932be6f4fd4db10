// Thousands of links are written by one statement on PostgreSQL: it looks at them and at little else, by whatever
// plan, and what is noted of the change is noted once. Others' writes wait meanwhile.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Client, escapeLiteral } from 'pg';
import { deleteLinks, insertLinks } from '../src/broker/resource/links/store.ts';
import { removeResources } from '../src/broker/resource/removals.store.ts';
import { BY_INDEX } from '../src/store/postgres/session.ts';
import type { Effect, Write } from '../src/store/write.ts';
import { connectTo, eachPlace } from './support/engines.ts';
import { type Looked, lookedAt } from './support/postgres-looks.ts';

/** Links of one thing. */
const LINKED = 10_000;
/** Each of the group's is looked at once, by a bitmap in the index and in the table. */
const WHOLE = 2 * LINKED;
/** Of users, the last are in no group. */
const USERS = 12_000;

const userId = (at: number): string => `u_${1_000_000 + at}`;
const users = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => userId(from + at));

const resources = (id: string, type: string, count: number): string =>
  `insert into resource (id, type, subtype, scope_id, container_id, owner_id, version, created_ms, updated_ms, body)
   select ${id}, '${type}', '', 'global', 'global', '', 1, 1, 1, '{}' from generate_series(0, ${count - 1}) i`;
const links = (group: string): string =>
  `insert into resource_link (from_id, kind, to_id)
   select '${group}', 'group-member', 'u_' || (1000000 + i) from generate_series(0, ${LINKED - 1}) i`;

const OF_ONE = { from_id: 'g_0', kind: 'group-member' } as const;

const CHANGES: [what: string, effects: readonly Effect[], most: number][] = [
  ['takes 9,000 away', deleteLinks({ ...OF_ONE, to_ids: users(0, 9_000) }), WHOLE],
  ['takes 501 away', deleteLinks({ ...OF_ONE, to_ids: users(0, 501) }), WHOLE],
  ['takes a few away', deleteLinks({ ...OF_ONE, to_ids: users(0, 20) }), 20],
  ['adds 2,000', insertLinks({ ...OF_ONE, to_ids: users(LINKED, USERS) }), 2_000],
  ...(['scope_id', 'container_id'] as const).map((column): [string, readonly Effect[], number] => [
    `adds 2,000 of a ${column}`,
    insertLinks({ ...OF_ONE, to_ids: users(LINKED, USERS) }, { [column]: 'global' }),
    2_000,
  ]),
];

function onlyOf(effects: readonly Effect[]): Write {
  const [only] = effects;
  assert.ok(effects.length === 1 && only && 'sql' in only);
  return only;
}

const valuesOf = ({ parameters }: Write): string =>
  parameters.map((value) => escapeLiteral(String(value))).join(', ');

eachPlace('many links of one thing', (newPlace, engine) => {
  if (engine === 'sqlite') return;
  let client: Client;
  before(async () => {
    const place = await newPlace();
    await place.open();
    client = await connectTo(place);
    await client.query(`${BY_INDEX} set plan_cache_mode = force_generic_plan`);
    // Kept from when there was nothing, as by a server that was just set up.
    for (const [at, [, effects]] of CHANGES.entries()) {
      const only = onlyOf(effects);
      await client.query(`prepare change_${at} as ${only.sql}`);
      await client.query(`explain execute change_${at}(${valuesOf(only)})`);
    }
    await client.query(resources("'u_' || (1000000 + i)", 'user', USERS));
    await client.query(resources("'g_' || i", 'group', 3));
    for (const group of ['g_0', 'g_1', 'g_2']) await client.query(links(group));
  });
  after(() => client.end());

  async function look(at: number): Promise<Looked> {
    const [, effects] = CHANGES[at] ?? [];
    assert.ok(effects);
    await client.query('begin');
    const execute = `execute change_${at}(${valuesOf(onlyOf(effects))})`;
    const explain = `explain (analyze, buffers, timing off, format json) ${execute}`;
    const { rows } = await client.query(explain).finally(() => client.query('rollback'));
    return lookedAt(rows[0]['QUERY PLAN']);
  }

  for (const [at, [what, , most]] of CHANGES.entries()) {
    for (const [of, prepare] of [
      ['an empty table', ''],
      ['a full one', 'analyze'],
    ] as const) {
      test(`a statement that ${what} by the plan of ${of} looks at what it is about`, async () => {
        await client.query(prepare);
        const { rows, blocks, scans, text } = await look(at);
        assert.deepEqual(scans, [], text);
        assert.ok(rows <= most, `${rows} rows: ${text}`);
        // By an index of all that lie in a place, each of them would be passed for each.
        assert.ok(blocks <= 20 * most, `${blocks} blocks: ${text}`);
        // Each row with each id: a table of the ids is looked up instead.
        assert.doesNotMatch(text, /Removed by Join Filter/);
      });
    }
  }

  const NOTED: [what: string, effects: readonly Effect[]][] = [
    ['of members', deleteLinks({ ...OF_ONE, to_ids: users(0, 9_000) })],
    ['of a group with its members', removeResources({ id: 'g_0' }, 5)],
    [
      'of members, with others who are put in their place,',
      [
        ...deleteLinks({ ...OF_ONE, to_ids: users(0, 9_000) }),
        ...insertLinks({ ...OF_ONE, to_ids: users(LINKED, USERS) }),
      ],
    ],
  ];
  for (const [what, effects] of NOTED) {
    test(`the removal ${what} is noted once`, async () => {
      await client.query("begin; set local track_functions = 'pl'");
      try {
        const before = await notes();
        for (const effect of effects) {
          assert.ok('sql' in effect);
          await client.query(effect.sql, [...effect.parameters]);
        }
        await client.query('set constraints all immediate');
        assert.equal((await notes()) - before, 1);
      } finally {
        await client.query('rollback');
      }
    });
  }

  /** How often something was noted, by what the connection has not reported yet. */
  async function notes(): Promise<number> {
    const { rows } = await client.query(
      "select coalesce(sum(calls), 0) as calls from pg_stat_xact_user_functions where funcname like 'note_config_%'",
    );
    return Number(rows[0].calls);
  }

  test('what a savepoint gave up is noted by who does it again', async () => {
    const version = async (): Promise<number> => {
      const { rows } = await client.query(
        "select version from config_subject where subject = 'broker/group-members'",
      );
      return Number(rows[0].version);
    };
    const before = await version();
    const { sql, parameters } = onlyOf(deleteLinks({ ...OF_ONE, to_ids: users(0, 20) }));
    await client.query('begin; savepoint one');
    await client.query(sql, [...parameters]);
    await client.query('rollback to one');
    await client.query(sql, [...parameters]);
    await client.query('commit');
    assert.equal(await version(), before + 1);
  });
});
