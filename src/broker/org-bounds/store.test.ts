import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachPlace, type Place } from '../../../test/support/engines.ts';
import { copyRow } from '../../../test/support/many-rows.ts';
import { makeResource } from '../../../test/support/resources.ts';
import { Failure } from '../../core/failure.ts';
import { build } from '../../store/database.ts';
import type { Store } from '../../store/store.ts';
import { type Write, write } from '../../store/write.ts';
import { insertLink, type LinkKind } from '../links/store.ts';
import type { Resource, Scope } from '../resource.ts';
import { insertResource } from '../resources/store.ts';
import {
  BOUNDS,
  MOST_GROUPS,
  MOST_GROUPS_OF_USER,
  MOST_MEMBERS,
  MOST_PRINCIPALS,
  MOST_ROLES,
} from './bounds.ts';
import { holdGroupsOf, holdMembers, holdNumberOf, holdPrincipals } from './store.ts';

const ORG = 'o_0000000001';
const OTHER = 'o_0000000002';
const PROJECTS = ['p_0000000001', 'p_0000000002'] as const;

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

/** Some of a kind, over an org and its projects. */
async function fill(store: Store, prefix: 'r' | 'g', copies: number): Promise<void> {
  const first = `${prefix}_first`;
  await store.commit([insertResource(placed(first, ORG))]);
  const where = sql<string>`case n.i % 3 when 0 then ${sql.lit(ORG)} when 1 then ${sql.lit(PROJECTS[0])} else ${sql.lit(PROJECTS[1])} end`;
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
    error instanceof Failure && error.kind === 'conflict' && error.message === because;

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
