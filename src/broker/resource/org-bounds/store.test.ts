import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachPlace, type Place } from '../../../../test/support/engines.ts';
import { copyRow } from '../../../../test/support/many-rows.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { isConflict } from '../../../core/failure.ts';
import { build } from '../../../store/database.ts';
import type { Store } from '../../../store/store.ts';
import { type Write, write } from '../../../store/write.ts';
import { insertLink, type LinkKind } from '../links/store.ts';
import type { Resource, Scope } from '../resource.ts';
import { insertResource } from '../store.ts';
import {
  BOUNDS,
  MOST_GROUPS,
  MOST_GROUPS_OF_USER,
  MOST_MEMBERS,
  MOST_PRINCIPALS,
  MOST_ROLES,
  partOf,
} from './bounds.ts';
import {
  faultOfOrg,
  faultOfUsers,
  holdGroupsOf,
  holdMembers,
  holdNumberOf,
  holdPrincipals,
} from './store.ts';

const ORG = 'o_0000000001';
const OTHER = 'o_0000000002';
const PROJECTS = ['p_0000000001', 'p_0000000002', 'p_0000000003'] as const;

const scopeOf = (
  id: string,
  parent_scope_id: string,
): Pick<Scope, 'id' | 'type' | 'parent_scope_id'> => ({
  id,
  parent_scope_id,
  type: id === 'global' ? 'global' : id.startsWith('o_') ? 'org' : 'project',
});
const GLOBAL = scopeOf('global', '');
const IN_ORG = scopeOf(ORG, 'global');
const IN_PROJECT = scopeOf(PROJECTS[0], ORG);
const IN_OTHER = scopeOf(OTHER, 'global');

const placed = (id: string, container_id: string): Resource =>
  makeResource(id, { scope_id: container_id, container_id });

/** A store with two orgs, of which one has projects, and some users. */
async function openStore(place: Place): Promise<Store> {
  const store = await place.open();
  const scopes = [
    makeResource('global', { scope_id: '', container_id: '' }),
    placed(ORG, 'global'),
    placed(OTHER, 'global'),
    ...PROJECTS.map((id) => placed(id, ORG)),
  ];
  const users = Array.from({ length: 100 }, (_, at) => placed(`u_${at}`, 'global'));
  await store.commit([...scopes, ...users].map(insertResource));
  return store;
}

/** Some of a kind, over an org and its projects, or all in one of these. */
async function fill(store: Store, prefix: 'r' | 'g', copies: number, only?: string): Promise<void> {
  const first = `${prefix}_first`;
  await store.commit([insertResource(placed(first, only ?? ORG))]);
  const where = only
    ? sql<string>`${sql.lit(only)}`
    : sql<string>`case n.i % 4 when 0 then ${sql.lit(ORG)} when 1 then ${sql.lit(PROJECTS[0])} when 2 then ${sql.lit(PROJECTS[1])} else ${sql.lit(PROJECTS[2])} end`;
  const changes = {
    id: sql`${sql.lit(`${prefix}_`)} || (1000000 + n.i)`,
    name: sql`'n' || n.i`,
    scope_id: where,
    container_id: where,
  };
  await copyRow(store, 'resource', { of: { id: first }, copies: copies - 1, changes });
}

const run = (store: Store, query: ReturnType<typeof sql>): Promise<void> =>
  store.commit([write({ compile: () => query.compile(build) })]);

/** Links of the first so many that there are, in an order of their own. */
const link = (store: Store, kind: LinkKind, prefix: 'r' | 'g', count: number): Promise<void> =>
  run(
    store,
    sql`insert into resource_link (from_id, kind, to_id)
      select a.id, ${sql.lit(kind)}, b.id from resource a, resource b
      where a.id like ${sql.lit(`${prefix}\\_1%`)} escape '\\' and b.type = 'user'
      order by b.id, a.id limit ${sql.lit(count)}`,
  );

const isRefusedBy =
  (because: string) =>
  (error: unknown): boolean =>
    isConflict(error) && error.message === because;

eachPlace('what one org can make of roles and groups', (newPlace) => {
  for (const [type, prefix, most, because] of [
    ['role', 'r', MOST_ROLES, BOUNDS.roles],
    ['group', 'g', MOST_GROUPS, BOUNDS.groups],
  ] as const) {
    test(`a ${type} is made where the org has fewer than it may have`, async () => {
      const store = await openStore(await newPlace());
      await fill(store, prefix, most - 1);
      const make = (id: string, scope: typeof GLOBAL): Promise<void> =>
        store.commit([
          insertResource(placed(`${prefix}_${id}`, scope.id)),
          ...holdNumberOf(type, scope),
        ]);
      await make('last', IN_PROJECT);
      await assert.rejects(make('more', IN_PROJECT), isRefusedBy(because), 'in a project');
      await assert.rejects(make('more', IN_ORG), isRefusedBy(because), 'in the org itself');
      await make('other', IN_OTHER);
      await make('global', GLOBAL);
      await run(store, sql`delete from resource where id = ${`${prefix}_last`}`);
      await make('more', IN_ORG);
      await store.close();
    });
  }

  for (const [kind, prefix, to, hold, most, because] of [
    ['group-member', 'g', 'u_0', holdMembers, MOST_MEMBERS, BOUNDS.members],
    ['role-principal', 'r', 'u_0', holdPrincipals, MOST_PRINCIPALS, BOUNDS.principals],
  ] as const) {
    test(`a ${kind} is added where the org has fewer than it may have`, async () => {
      const store = await openStore(await newPlace());
      await fill(store, prefix, 2_000);
      await link(store, kind, prefix, most - 1);
      const froms = ['a', 'b', 'c', 'd'].map((one) => `${prefix}_${one}`);
      const wheres = [PROJECTS[1], ORG, OTHER, 'global'];
      await store.commit(froms.map((id, at) => insertResource(placed(id, wheres[at] ?? ''))));
      const add = (at: number, scope: typeof GLOBAL): Promise<void> =>
        store.commit([insertLink({ from_id: froms[at] ?? '', kind, to_id: to }), ...hold(scope)]);
      await add(0, IN_PROJECT);
      await assert.rejects(add(1, IN_ORG), isRefusedBy(because), 'one more');
      await add(2, IN_OTHER);
      await add(3, GLOBAL);
      await store.close();
    });
  }

  test('a user is put into as many groups of an org as may be, whatever others put him into', async () => {
    const store = await openStore(await newPlace());
    await fill(store, 'g', MOST_GROUPS_OF_USER);
    await link(store, 'group-member', 'g', MOST_GROUPS_OF_USER - 1);
    const rows = await store.db.selectFrom('resource_link').select('to_id').distinct().execute();
    const [{ to_id } = { to_id: '' }] = rows;
    assert.equal(rows.length, 1, 'one user');
    const groups = [PROJECTS[0], ORG, OTHER, 'global'].map((where, at) =>
      placed(`g_x${at}`, where),
    );
    await store.commit(groups.map(insertResource));
    const put = (at: number, scope: typeof GLOBAL, user_id = to_id): Promise<void> =>
      store.commit([
        insertLink({ from_id: `g_x${at}`, kind: 'group-member', to_id: user_id }),
        ...holdGroupsOf(['u_7', user_id], scope),
      ]);
    await put(2, IN_OTHER);
    await put(0, IN_PROJECT);
    const refused = isRefusedBy(BOUNDS.groups_of_user);
    await assert.rejects(put(1, IN_ORG), refused, 'of the org, with its projects');
    await put(3, GLOBAL);
    await put(1, IN_ORG, 'u_8');
    await store.close();
  });

  for (const [type, prefix, most, because] of [
    ['role', 'r', MOST_ROLES, BOUNDS.roles],
    ['group', 'g', MOST_GROUPS, BOUNDS.groups],
  ] as const) {
    test(`a ${type} is made where its scope has less than its part of the org`, async () => {
      const store = await openStore(await newPlace());
      await fill(store, prefix, partOf(most) - 1, PROJECTS[0]);
      const make = (id: string, scope: typeof GLOBAL): Promise<void> =>
        store.commit([
          insertResource(placed(`${prefix}_${id}`, scope.id)),
          ...holdNumberOf(type, scope),
        ]);
      const fault = (scope: typeof GLOBAL, more = 1) => faultOfOrg(store.db, type, scope, more);
      assert.equal(await fault(IN_PROJECT, 2), because, 'two at once are one too many');
      assert.equal(await fault(IN_PROJECT), undefined);
      await make('last', IN_PROJECT);
      assert.equal(await fault(IN_PROJECT), because, 'seen beforehand');
      await assert.rejects(make('more', IN_PROJECT), isRefusedBy(because), 'seen in the write set');
      for (const scope of [IN_ORG, scopeOf(PROJECTS[1], ORG), IN_OTHER]) {
        assert.equal(await fault(scope), undefined);
        await make(`in_${scope.id}`, scope);
      }
      await store.close();
    });
  }

  for (const [kind, prefix, of, hold, most, because] of [
    ['group-member', 'g', 'members', holdMembers, MOST_MEMBERS, BOUNDS.members],
    ['role-principal', 'r', 'principals', holdPrincipals, MOST_PRINCIPALS, BOUNDS.principals],
  ] as const) {
    test(`a ${kind} is added where the scope has less than its part of the org`, async () => {
      const store = await openStore(await newPlace());
      await fill(store, prefix, 2_000, PROJECTS[0]);
      await link(store, kind, prefix, partOf(most) - 1);
      const froms = ['a', 'b', 'c'].map((one) => `${prefix}_${one}`);
      const wheres = [PROJECTS[0], PROJECTS[0], ORG];
      await store.commit(froms.map((id, at) => insertResource(placed(id, wheres[at] ?? ''))));
      const add = (at: number, scope: typeof GLOBAL): Promise<void> =>
        store.commit([
          insertLink({ from_id: froms[at] ?? '', kind, to_id: 'u_0' }),
          ...hold(scope),
        ]);
      const fault = (scope: typeof GLOBAL, more = 1) => faultOfOrg(store.db, of, scope, more);
      assert.equal(await fault(IN_PROJECT, 2), because, 'two at once are one too many');
      assert.equal(await fault(IN_PROJECT), undefined);
      await add(0, IN_PROJECT);
      assert.equal(await fault(IN_PROJECT), because, 'seen beforehand');
      await assert.rejects(add(1, IN_PROJECT), isRefusedBy(because), 'seen in the write set');
      assert.equal(await fault(IN_ORG), undefined);
      await add(2, IN_ORG);
      await store.close();
    });
  }

  test('one project puts a user into its part of the groups, and others of the org put him into more', async () => {
    const store = await openStore(await newPlace());
    const part = partOf(MOST_GROUPS_OF_USER);
    await fill(store, 'g', part, PROJECTS[0]);
    await link(store, 'group-member', 'g', part - 1);
    const [{ to_id } = { to_id: '' }] = await store.db
      .selectFrom('resource_link')
      .select('to_id')
      .execute();
    const wheres = [PROJECTS[0], PROJECTS[0], ORG];
    await store.commit(wheres.map((where, at) => insertResource(placed(`g_x${at}`, where))));
    const put = (at: number, scope: typeof GLOBAL): Promise<void> =>
      store.commit([
        insertLink({ from_id: `g_x${at}`, kind: 'group-member', to_id }),
        ...holdGroupsOf(['u_7', to_id], scope),
      ]);
    const fault = (scope: typeof GLOBAL, user_ids = ['u_7', to_id]) =>
      faultOfUsers(store.db, user_ids, scope, async () => {});
    assert.equal(await fault(IN_PROJECT), undefined);
    await put(0, IN_PROJECT);
    assert.equal(await fault(IN_PROJECT), BOUNDS.groups_of_user, 'seen beforehand');
    assert.equal(await fault(IN_PROJECT, ['u_7']), undefined, 'for him alone');
    await assert.rejects(put(1, IN_PROJECT), isRefusedBy(BOUNDS.groups_of_user));
    assert.equal(await fault(IN_ORG), undefined);
    await put(2, IN_ORG);
    await store.close();
  });

  test('what is counted of an org is what is there, whatever goes with what', async () => {
    const store = await openStore(await newPlace());
    await fill(store, 'g', 40);
    await fill(store, 'r', 40);
    await link(store, 'group-member', 'g', 400);
    await link(store, 'role-principal', 'r', 400);
    const compare = async (links: number, what: string): Promise<void> => {
      const counted = await store.db
        .selectFrom('resource_room')
        .select(['id', 'org_id', 'scope_id', 'type', 'links'])
        .orderBy('id')
        .execute();
      const there = await store.db
        .selectFrom('resource')
        .select(['id', 'container_id as scope_id', 'type'])
        .where('type', 'in', ['role', 'group'])
        .orderBy('id')
        .execute();
      const all = await store.db.selectFrom('resource_link').select('from_id').execute();
      const by = Map.groupBy(all, ({ from_id }) => from_id);
      assert.equal(all.length, links, what);
      const expected = there.map(({ id, ...row }) => {
        return { id, org_id: ORG, ...row, links: by.get(id)?.length ?? 0 };
      });
      assert.deepEqual(
        counted.map((row) => ({ ...row, links: Number(row.links) })),
        expected.map(({ id, org_id, scope_id, type, links: n }) => ({
          id,
          org_id,
          scope_id,
          type,
          links: n,
        })),
        what,
      );
    };
    await compare(800, 'as they were made');
    const [{ to_id } = { to_id: '' }] = await store.db
      .selectFrom('resource_link')
      .select('to_id')
      .execute();
    const before = (
      await store.db
        .selectFrom('resource_link')
        .select('to_id')
        .where('to_id', '=', to_id)
        .execute()
    ).length;
    await run(store, sql`delete from resource where id = ${to_id}`);
    await compare(800 - before, 'without somebody who was in many');
    await run(store, sql`delete from resource_link where from_id = 'g_1000001'`);
    await run(store, sql`delete from resource where id = 'r_1000002'`);
    await run(store, sql`delete from resource where container_id = ${PROJECTS[1]}`);
    const left = await store.db.selectFrom('resource_link').select('to_id').execute();
    await compare(left.length, 'without some of them');
    await store.close();
  });

  test('of two who take the last place at once, on two nodes, one is refused', async () => {
    const place = await newPlace();
    const one = await openStore(place);
    // SQLite has one node, whose writes come one after the other.
    const other = one.engine === 'postgres' ? await place.open('other') : one;
    await fill(one, 'r', MOST_ROLES - 1);
    const make = (store: Store, id: string, scope: typeof GLOBAL): Promise<void> => {
      const effects: Write[] = [
        insertResource(placed(id, scope.id)),
        ...holdNumberOf('role', scope),
      ];
      return store.commit(effects);
    };
    const outcomes = await Promise.allSettled([
      make(one, 'r_a', IN_PROJECT),
      make(other, 'r_b', IN_ORG),
    ]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    if (other !== one) await other.close();
    await one.close();
  });
});
