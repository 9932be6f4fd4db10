/** What one org can make of roles, groups and their links is in nobody's way, and can be removed. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { loadGrantSet } from '../../src/broker/iam/grants/operations.ts';
import {
  BOUNDS,
  MOST_GROUPS,
  MOST_GROUPS_OF_USER,
  MOST_PRINCIPALS,
  MOST_ROLES,
} from '../../src/broker/resource/org-bounds/bounds.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';
import { copyRow } from '../support/many-rows.ts';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp, LONGEST_TURN, longestTurn } from '../support/turns.ts';

/** Looks on when a write set is durable. */
const watching: { look?: () => Promise<void>; written?: string[] } = {};
const broker = await startBroker(
  { after },
  {
    store: (real) => ({
      ...real,
      commit: async (effects) => {
        for (const effect of effects) if ('sql' in effect) watching.written?.push(effect.sql);
        await real.commit(effects);
        await watching.look?.();
      },
    }),
  },
);
const { admin, make, nobody } = broker;
const { app } = broker.client.running;

/**
 * Milliseconds of CPU time of all until somebody is answered, in turns. It is some 120 on a machine that has nothing
 * else to do, and more than twice that on one that has.
 */
const WHOLE = 400;

const run = (query: RawBuilder<unknown>): Promise<void> =>
  app.store.commit([write({ compile: () => query.compile(build) }), bumpConfigVersion()]);

let org = '';
let project = '';
let victim = '';
let role = '';
let group = '';

/** Copies of one thing, some beyond the bound, as they may be from before there was one. */
const copy = (id: string, copies: number): Promise<void> =>
  copyRow(app.store, 'resource', {
    of: { id },
    copies,
    changes: {
      id: sql`${sql.ref('id')} || (1000000 + n.i)`,
      name: sql`'n' || n.i`,
    },
  });

/** Links every copy of one thing to something. */
const linkAll = (of: string, kind: string, to_id: string): Promise<void> =>
  run(sql`insert into resource_link (from_id, kind, to_id)
    select id, ${sql.lit(kind)}, ${sql.lit(to_id)} from resource where id like ${sql.lit(`${of}1%`)}`);

before(async () => {
  org = await make('scopes', { scope_id: 'global', type: 'org', name: 'many' });
  project = await make('scopes', { scope_id: org, name: 'project' });
  victim = await make('users', { scope_id: 'global', name: 'somebody else' });
  role = await make('roles', { scope_id: org });
  group = await make('groups', { scope_id: project });
  await copy(role, MOST_ROLES + 1_000);
  await copy(group, MOST_GROUPS + 1_000);
});

/** What anybody waits for after a change of a role that is not theirs: what is kept of all roles goes with it. */
async function comeAfterChange(user_id: string): Promise<void> {
  const bounds = { [`a turn for ${user_id}`]: LONGEST_TURN, [`all for ${user_id}`]: WHOLE };
  await holdBounds(bounds, async () => {
    await run(sql`update resource set description = 'another' where id = ${sql.lit(role)}`);
    let turn = 0;
    const whole = await cpuUntil(async () => {
      turn = await longestTurn(async () => {
        await loadGrantSet(app, { user_id, account_id: '' });
      });
    });
    return { [`a turn for ${user_id}`]: turn, [`all for ${user_id}`]: whole };
  });
}

const LINKS: [what: string, make: () => Promise<void>][] = [
  ['as many groups as there are have him', () => linkAll(group, 'group-member', victim)],
  [
    'his groups have as many principals as can be, in few roles',
    () =>
      run(sql`insert into resource_link (from_id, kind, to_id)
        select r.id, 'role-principal', g.id from
        (select id from resource where id like ${sql.lit(`${group}1%`)} order by id limit ${sql.lit(MOST_GROUPS_OF_USER)}) g,
        (select id from resource where id like ${sql.lit(`${role}1%`)} order by id limit ${sql.lit(MOST_PRINCIPALS / MOST_GROUPS_OF_USER)}) r`),
  ],
  ['all roles name him', () => linkAll(role, 'role-principal', victim)],
  ['all roles name who is logged in', () => linkAll(role, 'role-principal', 'u_auth')],
  ['all roles name everybody', () => linkAll(role, 'role-principal', 'u_anon')],
];

test('nobody waits long after a change of another role, whatever roles and groups one org has', async () => {
  for (const user_id of ['u_anon', victim]) await comeAfterChange(user_id);
  for (const [what, add] of LINKS) {
    await add();
    for (const user_id of ['u_anon', 'u_another', victim]) {
      await comeAfterChange(user_id).catch((error) => assert.fail(`${what}: ${error.message}`));
    }
  }
});

test('what passes a bound is refused in the field that is too much', async () => {
  const free = await make('groups', { scope_id: 'global' });
  const elsewhere = await make('scopes', { scope_id: 'global', type: 'org', name: 'elsewhere' });
  const post = (path: string, body: object) => admin('POST', path, body);
  const members = { version: 1, member_ids: [victim] };
  const principals = { version: 1, principal_ids: [victim] };
  const written: string[] = [];
  watching.written = written;
  const refusals: [reply: Awaited<ReturnType<typeof post>>, field: string, because: string][] = [
    [await post('roles', { scope_id: org }), 'scope_id', BOUNDS.roles],
    [await post('roles', { scope_id: project }), 'scope_id', BOUNDS.roles],
    [await post('groups', { scope_id: project }), 'scope_id', BOUNDS.groups],
    [await post('scopes', { scope_id: org }), 'scope_id', BOUNDS.roles],
    [await post(`groups/${group}:add-members`, members), 'member_ids', BOUNDS.groups_of_user],
    [await post(`groups/${group}:set-members`, members), 'member_ids', BOUNDS.groups_of_user],
    [await post(`roles/${role}:add-principals`, principals), 'principal_ids', BOUNDS.principals],
    [await post(`roles/${role}:set-principals`, principals), 'principal_ids', BOUNDS.principals],
  ];
  delete watching.written;
  const tried = written.filter((sql) => /^insert into "resource(_link)?"/.test(sql));
  assert.deepEqual(tried, [], 'nothing is tried that cannot be');
  for (const [reply, field, because] of refusals) {
    assert.equal(reply.status, 400, reply.text.slice(0, 300));
    assert.equal(reply.textAt('kind'), 'InvalidArgument');
    assert.equal(refusedFields(reply)[field], because);
  }
  const bare = 'skip_admin_role_creation=true&skip_default_role_creation=true';
  const taken: [path: string, body: object][] = [
    [`scopes?${bare}`, { scope_id: org, name: 'without roles' }],
    ['roles', { scope_id: elsewhere }],
    ['groups', { scope_id: 'global' }],
    [`groups/${free}:add-members`, members],
    // The same again, and less, from before there was a bound.
    [`groups/${group}1000001:set-members`, members],
    [`groups/${group}1000001:remove-members`, { version: 2, member_ids: [victim] }],
    [`roles/${role}1000001:set-principals`, principals],
  ];
  for (const [path, body] of taken) {
    const reply = await post(path, body);
    assert.equal(reply.status, 200, `${path}: ${reply.text.slice(0, 300)}`);
  }
});

test('a role, a group and the org are removed with all of it, and nobody is held up', async () => {
  for (const path of [`roles/${role}1000002`, `groups/${group}1000002`, `scopes/${org}`]) {
    let status = 0;
    await holdsNobodyUp(
      async () => {
        status = (await admin('DELETE', path)).status;
      },
      { what: path, attempts: 1 },
    );
    assert.equal(status, 204, path);
  }
  const left = await app.db
    .selectFrom('resource_link')
    .select('from_id')
    .where('to_id', '=', victim)
    .execute();
  assert.equal(left.length, 1, 'the group of another org');
  assert.equal((await nobody('GET', 'auth-methods?scope_id=global')).status, 200);
});

test('links of an org that is removed go in pages, however few roles and groups have them', async () => {
  const whole = await make('scopes', { scope_id: 'global', type: 'org', name: 'linked' });
  const user = await make('users', { scope_id: 'global', name: 'one of many' });
  const few = { roles: await make('roles', { scope_id: whole }), groups: '' };
  few.groups = await make('groups', { scope_id: whole });
  await copy(user, 9_000);
  for (const id of Object.values(few)) await copy(id, 2);
  for (const [id, kind] of [
    [few.roles, 'role-principal'],
    [few.groups, 'group-member'],
  ] as const) {
    await run(sql`insert into resource_link (from_id, kind, to_id)
      select a.id, ${sql.lit(kind)}, b.id from resource a, resource b
      where a.id like ${sql.lit(`${id}1%`)} and b.id like ${sql.lit(`${user}1%`)}`);
  }
  const count = async (): Promise<number> => {
    const links = app.db.selectFrom('resource_link').select((row) => row.fn.countAll().as('count'));
    return Number((await links.executeTakeFirstOrThrow()).count);
  };
  let left = await count();
  const before = left;
  let most = 0;
  watching.look = async () => {
    const now = await count();
    most = Math.max(most, left - now);
    left = now;
  };
  assert.equal((await admin('DELETE', `scopes/${whole}`)).status, 204);
  delete watching.look;
  assert.ok(before - left >= 36_000, `${before - left} have gone`);
  assert.ok(most <= 4_100, `${most} at once`);
});
