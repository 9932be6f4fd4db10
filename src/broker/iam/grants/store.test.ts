import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { insertLink, type LinkKind } from '../../resource/links/store.ts';
import { insertResource } from '../../resource/store.ts';
import { listGroupsOf, listRolesOf } from './store.ts';

/** More than a page. */
const MANY = 1_203;

const idsOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}_${String(at).padStart(4, '0')}`);

eachPlace('who has which role', (newPlace) => {
  test('groups and roles are found by whom they lead to, each once and in order', async () => {
    const store = await (await newPlace()).open();
    const roles = idsOf('r', MANY);
    const groups = idsOf('g', MANY);
    const others = ['u_1', 'u_2', 'u_3', 'r_few'];
    await store.commit(
      [...roles, ...groups, ...others].map((id) =>
        insertResource(makeResource(id, { version: 7 })),
      ),
    );
    const link = (from_id: string, kind: LinkKind, to_id: string) =>
      insertLink({ from_id, kind, to_id });
    await store.commit([
      ...groups.map((id) => link(id, 'group-member', 'u_1')),
      link('g_0003', 'group-member', 'u_2'),
      ...roles.map((id) => link(id, 'role-principal', 'g_0001')),
      ...roles.slice(0, 5).map((id) => link(id, 'role-principal', 'g_0002')),
      link('r_few', 'role-principal', 'g_0003'),
      link('r_few', 'role-principal', 'u_2'),
      // Of another kind: no role, though it leads to the same.
      link('g_0007', 'group-member', 'u_3'),
    ]);
    assert.deepEqual(await listGroupsOf(store.db, 'u_1'), groups);
    assert.deepEqual(await listGroupsOf(store.db, 'u_2'), ['g_0003']);
    assert.deepEqual(await listGroupsOf(store.db, 'u_4'), []);
    const cases: [principals: string[], found: string[], why: string][] = [
      [[], [], 'nobody'],
      [['u_3'], [], 'who is in a group has no role by that'],
      [['g_0003', 'u_2'], ['r_few'], 'a role of both'],
      [['g_0002'], roles.slice(0, 5), 'some'],
      [['g_0002', 'g_0001', 'g_0003'], [...roles, 'r_few'], 'more than a page'],
      [groups, [...roles, 'r_few'], 'of more principals than are asked about at once'],
    ];
    for (const [principals, found, why] of cases) {
      const seen = await listRolesOf(store.db, principals);
      assert.deepEqual(
        seen.map(({ id }) => id),
        found,
        why,
      );
      assert.ok(
        seen.every(({ version }) => version === 7),
        why,
      );
    }
    await store.close();
  });
});
