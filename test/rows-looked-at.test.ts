import type { CancellationCause } from '../src/broker/sessions/dependents.store.ts';
import { listSessionsOf, type PagedLoss } from '../src/broker/sessions/paged-termination.store.ts';
// What ends sessions looks at those that end, not at those that have ended or are others', and a page of tokens at
// those above them, however many there are of all: on PostgreSQL, which says how many rows it has looked at.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { listDead } from '../src/access/tokens/line.store.ts';
import { endLogIns, revokeTokensIn } from '../src/broker/iam/auth-tokens/operations.ts';
import { removeResources } from '../src/broker/resource/removals.store.ts';
import { cancelAffected } from '../src/broker/sessions/termination.store.ts';
import { createDb, type Db } from '../src/store/database.ts';
import { BY_INDEX } from '../src/store/postgres/session.ts';
import type { Effect } from '../src/store/write.ts';
import { connectTo, eachPlace } from './support/engines.ts';

const MANY = 20_000;
/** Tokens that are looked up at once. */
const PAGE = 500;
/** Sessions that go on and end by each of the losses. */
const LIVE = 3;

const SESSIONS: [sql: string, count: number][] = [
  // Ended ones of the same person, token, mount, target and host; the others' go on.
  [insertOf('ended', 'terminated', { user: 'u_1', by: '1', set: 's_1' }), MANY],
  [insertOf('others', 'active', { user: 'u_2', by: '2', set: 's_1' }), MANY],
  [insertOf('of_set', 'terminated', { user: 'u_2', by: '3', set: 's_3' }), MANY],
  [insertOf('live', 'active', { user: 'u_1', by: '1', set: 's_2' }), LIVE],
];

function insertOf(
  name: string,
  status: string,
  { user, by, set }: { user: string; by: string; set: string },
): string {
  const at = by === '1' ? "case when i % 2 = 0 then 'k_1' else '' end" : `'j_' || i`;
  const alias = by === '1' ? "case when i % 2 = 1 then 'a_1' else '' end" : "''";
  return `with made as (
      insert into resource (id, type, subtype, scope_id, container_id, owner_id, version, created_ms, updated_ms, body)
      select '${name}' || i, 'session', 'tcp', 'p_1', 'p_1', '${user}', 1, i, i, '{}' from generate_series(1, $1::int) i)
    insert into session (id, target_id, host_set_id, host_id, auth_token_id, token_id, alias_id, auth_mount_id,
      user_id, status, endpoint, connection_limit, expires_ms, worker_filter, certificate, created_ms,
      termination_reason, connections, open_connections, due_ms)
    select '${name}' || i, 't_1', '${set}', 'h_1', '${set === 's_2' ? 'at_1' : ''}', ${at}, ${alias}, 'm_${by}', '${user}', '${status}',
      'x', -1, 1, '', '', i, '', 0, 0, i from generate_series(1, $1::int) i`;
}

const OTHERS = [
  `insert into resource (id, type, subtype, scope_id, container_id, owner_id, unique_key, version, created_ms, updated_ms, body)
   select id, type, '', 'global', 'global', '', key, 1, 1, 1, '{}' from (values
     ('u_1', 'user', 'entity:e_1'), ('u_2', 'user', 'entity:e_2'), ('ampw_1', 'auth-method', null),
     ('at_1', 'auth-token', 'k_1'), ('s_1', 'host-set', null), ('s_2', 'host-set', null), ('h_1', 'host', null)) as made (id, type, key)`,
  "update resource set scope_id = 'o_1' where id = 'at_1'",
  `insert into identity_entity (id, name, name_key, version, created_at_ms, updated_at_ms, body)
   values ('e_1', 'e', 'e', 1, 1, 1, '{}')`,
  `insert into identity_alias (id, entity_id, mount_accessor, name, name_key, moves, created_at_ms, updated_at_ms, body)
   values ('a_1', 'e_1', 'ampw_1', 'u_1', 'u_1', 0, 1, 1, '{}')`,
  `insert into token (id, accessor, mount_id, alias_id, expires_at, uses_left, body)
   select 'k_' || i, 'k_' || i, 'm_' || i, 'a_' || i, 5, 0, '{}' from generate_series(1, ${MANY}) i`,
  // Children of one, in the order of their ids: PostgreSQL would rather go through them than look for each.
  `insert into token (id, accessor, mount_id, alias_id, parent_id, expires_at, uses_left, body)
   select 'child_' || (100000 + i), 'child_' || i, '', '', 'k_9999', 9, 0, '{}' from generate_series(1, ${MANY}) i`,
  `insert into resource_link (from_id, kind, to_id) values ('s_1', 'host-set-host', 'h_1'), ('s_2', 'host-set-host', 'h_1')`,
  // Log-ins of others, each by an account of its own.
  `insert into resource (id, type, subtype, scope_id, container_id, owner_id, unique_key, version, created_ms, updated_ms, body)
   select name || i, type, '', 'p_1', name || '0', 'u_2', name || i, 1, 1, 1, '{}'
   from generate_series(1, ${MANY}) i, (values ('at_of_', 'auth-token'), ('acc_of_', 'account')) as made (name, type)`,
  `insert into resource_link (from_id, kind, to_id)
   select 'at_of_' || i, 'log-in-account', 'acc_of_' || i from generate_series(1, ${MANY}) i`,
];

/** What goes, but for the sessions, with little in it. */
const REMOVALS: [what: string, writes: readonly Effect[]][] = [
  ['a scope', removeResources({ scope_ids: ['o_1'] }, 5)],
  ['two scopes', removeResources({ scope_ids: ['o_1', 'o_2'] }, 5)],
  ['the tokens of a scope', [revokeTokensIn(['o_1'])]],
  ['a resource', removeResources({ id: 's_2' }, 5)],
  ['some resources', removeResources({ ids: ['s_2', 'h_1'] }, 5)],
  [
    'the log-ins by an auth method',
    await endLogIns({ now: () => 5 }, { auth_method_id: 'ampw_1' }),
  ],
  ['the log-ins by an account', await endLogIns({ now: () => 5 }, { account_ids: ['acc_of_3'] })],
  ['the log-ins of a user', await endLogIns({ now: () => 5 }, { user_ids: ['u_3'] })],
];

const many = (name: string): string[] => Array.from({ length: 2_000 }, (_, at) => `${name}${at}`);
const named = sql<string>`(select 'a_1')`;

/** How many end with what, said for the last write set and for a page. */
const LOSSES: [what: string, ends: number, last: CancellationCause, page?: PagedLoss][] = [
  ['a person', LIVE, { of_entities: ['e_1'] }, { of_entities: ['e_1'] }],
  ['a mount', LIVE, { auth_mount: { id: 'm_1' } }, { auth_mount: { id: 'm_1' } }],
  ['a token', 1, { token_ids: ['k_1'], ended_by: 9 }, { token_ids: ['k_1'] }],
  ['an alias', LIVE - 1, { alias_ids: named }, { alias_ids: named }],
  ['whom an alias names', LIVE, { of_named: named }, { of_named: named }],
  ['a host set', LIVE, { of_host_sets: ['s_2'] }, { of_host_sets: ['s_2'] }],
  [
    'a host set of a target',
    LIVE,
    { target_id_of: 't_1', host_set_ids: ['s_2'] },
    { target_id_of: 't_1', host_set_ids: ['s_2'] },
  ],
  [
    'a host of a set',
    LIVE,
    { host_set_id_of: 's_2', host_ids: ['h_1'] },
    { host_set_id_of: 's_2', host_ids_of: ['h_1'] },
  ],
  [
    'thousands of hosts of a set',
    LIVE,
    { host_set_id_of: 's_2', host_ids: ['h_1', ...many('h_of_')] },
    { host_set_id_of: 's_2', host_ids_of: ['h_1'] },
  ],
  [
    'thousands of hosts of a set that others have had sessions through',
    0,
    { host_set_id_of: 's_3', host_ids: ['h_1', ...many('h_of_')] },
    { host_set_id_of: 's_3', host_ids_of: ['h_1'] },
  ],
  ['a log-in', LIVE, { log_ins: { ids: ['at_1'] } }, { log_in_ids: ['at_1'] }],
  ['a scope', LIVE, { scope_ids: ['o_1'] }],
  ['a user', 0, { user_ids: ['u_3'] }, { user_ids: ['u_3'] }],
  ['a target', 0, { target_id: 't_2' }, { target_id: 't_2' }],
  ['a host', 0, { host_ids: ['h_2'] }, { host_ids: ['h_2'] }],
  ['a catalog', 0, { host_catalog_id: 'hc_2' }],
  ['an address', 0, { address_of: 't_1' }, { address_of: 't_1' }],
];

/** Some parts of a plan, as PostgreSQL tells them. */
interface Step {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Step[];
}

function countRows(step: Step | undefined): number {
  if (!step) return 0;
  const { 'Actual Rows': rows, 'Actual Loops': loops, Plans: below = [] } = step;
  const passed =
    (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0);
  const own = step['Relation Name'] === undefined ? 0 : (rows + passed) * loops;
  return own + below.reduce((sum, one) => sum + countRows(one), 0);
}

/** A database whose rows are asked for by this. */
function readBy(all: (text: string, parameters: readonly unknown[]) => Promise<unknown[]>): Db {
  const some = async (text: string, parameters: readonly unknown[]) => {
    return { rows: await all(text, parameters), bytes: 0, more: false };
  };
  return createDb({ all, some, first: async () => undefined, close: async () => {} });
}

eachPlace('among many sessions', (newPlace, engine) => {
  if (engine !== 'postgres') return;
  let client: Client;
  before(async () => {
    const place = await newPlace();
    await place.open();
    client = await connectTo(place);
    await client.query(BY_INDEX);
    for (const text of OTHERS) await client.query(text);
    for (const [text, count] of SESSIONS) await client.query(text, [count]);
    await client.query('vacuum analyze');
  });
  after(() => client.end());

  /** The plan of a statement as it went; it changes nothing. */
  async function run(text: string, parameters: readonly unknown[]): Promise<Step> {
    await client.query('begin');
    const explained = `explain (analyze, costs off, timing off, format json) ${text}`;
    const { rows } = await client
      .query(explained, [...parameters])
      .finally(() => client.query('rollback'));
    return rows[0]['QUERY PLAN'][0].Plan;
  }

  for (const [what, writes] of REMOVALS) {
    test(`few are looked at by the removal of ${what}`, async () => {
      for (const effect of writes) {
        assert.ok('sql' in effect);
        const looked = countRows(await run(effect.sql, effect.parameters));
        assert.ok(looked <= 20 * LIVE, `${looked} for ${effect.sql}`);
      }
    });
  }

  test('a page of tokens looks at them and at those above them', async () => {
    const ids = Array.from({ length: PAGE }, (_, at) => `child_${100_001 + at}`);
    const steps: Step[] = [];
    const all = async (text: string, parameters: readonly unknown[]): Promise<unknown[]> => {
      steps.push(await run(text, parameters));
      return [];
    };
    await listDead(readBy(all), ids, 5);
    assert.equal(steps.length, 1);
    const looked = countRows(steps[0]);
    assert.ok(looked >= PAGE && looked <= 5 * PAGE, String(looked));
  });

  for (const [what, ends, last, page] of LOSSES) {
    test(`few are looked at by what ends with ${what}`, async () => {
      for (const { sql: text, parameters } of cancelAffected(last, 5)) {
        const looked = countRows(await run(text, parameters));
        assert.ok(looked <= 20 * LIVE, `${looked} for ${text}`);
      }
    });

    if (!page) continue;
    test(`few are looked at for a page of what ends with ${what}`, async () => {
      const steps: Step[] = [];
      const all = async (text: string, parameters: readonly unknown[]): Promise<unknown[]> => {
        steps.push(await run(text, parameters));
        return [];
      };
      await listSessionsOf(readBy(all), page, 500);
      assert.deepEqual(
        steps.map((step) => step['Actual Rows']),
        [ends],
      );
      const looked = steps.map((step) => countRows(step));
      assert.ok(Math.max(...looked) <= 20 * LIVE, String(looked));
    });
  }
});
