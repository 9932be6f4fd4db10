import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { isConflict } from '../../../core/failure.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import { BROUGHT_GRANTS } from '../../resource/org-bounds/brought.ts';
import {
  faultOfRoom,
  MOST_OF_ORG,
  MOST_OF_SCOPE,
  sizeOfGrants,
  sizeOfRole,
} from '../../resource/org-bounds/grant-room.ts';
import type { Resource } from '../../resource/resource.ts';
import { changeResource, insertResource } from '../../resource/store.ts';
import { holdRoom, sumGrants } from './store.ts';

const placed = (id: string, scope_id: string, body: object = {}): Resource =>
  makeResource(id, { scope_id, container_id: scope_id, body });

const bodyOf = (grant_strings: readonly string[]): RoleBody => ({
  grant_strings,
  grant_scope_ids: ['this'],
});

/** A body that comes to so much; no grant, but what counts is its length. */
function sized(size: number): RoleBody {
  const body = bodyOf(['x'.repeat(size - sizeOfGrants(bodyOf([''])))]);
  assert.equal(sizeOfGrants(body), size);
  return body;
}

const SCOPES: Resource[] = [
  placed('o_0000000001', 'global'),
  placed('o_0000000002', 'global'),
  ...Array.from({ length: 9 }, (_, at) => placed(`p_000000000${at}`, 'o_0000000001')),
  placed('p_0000000029', 'o_0000000002'),
];

const ORG = 'o_0000000001';
const PROJECT = 'p_0000000001';
const HERE = { scope_id: PROJECT, org_id: ORG };

const BODIES: [what: string, body: RoleBody][] = [
  ['no grants', bodyOf([])],
  ['one', bodyOf(['ids=*;type=target;actions=read'])],
  ['what a project begins with', bodyOf(BROUGHT_GRANTS.project)],
  ['what an org begins with', bodyOf(BROUGHT_GRANTS.org)],
  ['the same where it reaches further', { grant_strings: BROUGHT_GRANTS.org, grant_scope_ids: ['children'] }],
  ['some', bodyOf(['ids=*;type=target;actions=read', 'type=role;actions=list', 'ids=u_1;actions=read'])],
  ['JSON', bodyOf(['{"ids":["ttcp_1","ttcp_2"],"actions":["read"]}', 'type=role;actions=list'])],
  ['templates', bodyOf(['ids={{.User.Id}},{{.User.Id}};actions=read', 'ids={{ user.id }};actions=*'])],
  ['letters of more bytes', bodyOf(['ids=*;type=target;actions=read;output_fields=größe,名'])],
  ['ids written with escapes', bodyOf(['{"ids":["ttcp\\u005f1","ttcp\\u005F2"],"actions":["read"]}'])],
  ['output fields', bodyOf(['ids=*;type=target;actions=read,list;output_fields=id,scope_id,,a'])],
  ['many scopes', { grant_strings: [], grant_scope_ids: [ORG, PROJECT, 'this'] }],
]; // biome-ignore format: one table

/** Roles that are there, where another one of some size goes, and whether it may. */
const ROWS: [there: [scope_id: string, size: number][], scope_id: string, size: number, fits: boolean, why: string][] = [
  [[], PROJECT, MOST_OF_SCOPE, true, 'all that a scope may have'],
  [[], PROJECT, MOST_OF_SCOPE + 1, false, 'a byte more'],
  [[[PROJECT, MOST_OF_SCOPE - 5000]], PROJECT, 5000, true, 'the last bytes of a scope'],
  [[[PROJECT, MOST_OF_SCOPE - 5000]], PROJECT, 5001, false, 'a byte more than the last'],
  [[[ORG, MOST_OF_SCOPE]], PROJECT, MOST_OF_SCOPE, true, 'the org is another scope'],
  [[0, 2].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), PROJECT, MOST_OF_SCOPE, true, 'all that an org may have'],
  [[0, 2].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE - (n === 0 ? 0 : 1)]), ORG, MOST_OF_SCOPE, true, 'and less'],
  [[0, 2, 3].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), PROJECT, 5000, false, 'more than an org may have'],
  [[0, 2, 3].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), 'p_0000000029', 5000, true, 'another org has its own'],
  [[['global', MOST_OF_ORG]], PROJECT, 5000, true, 'global has its own'],
  [[[ORG, MOST_OF_SCOPE], ['global', MOST_OF_ORG - 5000]], 'global', 5000, true, 'in which orgs do not count'],
  [[['global', MOST_OF_ORG - 5000]], 'global', 5001, false, 'and which has an end as well'],
]; // biome-ignore format: one table

const orgOf = (scope_id: string): string =>
  scope_id === 'p_0000000029' ? 'o_0000000002' : scope_id.startsWith('p_') ? ORG : scope_id;

eachPlace('the room for grants', (newPlace) => {
  test('the database counts as the rule does', async () => {
    const store = await (await newPlace()).open();
    await store.commit(SCOPES.map(insertResource));
    let sum = 0;
    for (const [at, [what, body]] of BODIES.entries()) {
      for (const version of [1, 2, 11]) {
        const role = placed(`r_${version}000000${at}`, PROJECT, body);
        await store.commit([insertResource({ ...role, version })]);
        sum += sizeOfRole({ version, body });
        const why = `${what}, version ${version}`;
        assert.deepEqual(await sumGrants(store.db, HERE), { org: sum, scope: sum }, why);
      }
    }
  });

  test('a role is written where there is room for it, to the byte', async () => {
    for (const [there, scope_id, size, fits, why] of ROWS) {
      const store = await (await newPlace()).open();
      const place = { scope_id, org_id: orgOf(scope_id) };
      await store.commit([
        ...SCOPES.map(insertResource),
        ...there.map(([where, taken], at) =>
          insertResource(placed(`r_000000001${at}`, where, sized(taken))),
        ),
      ]);
      const fault = faultOfRoom(await sumGrants(store.db, place), size);
      assert.equal(fault === undefined, fits, why);
      const role = insertResource(placed('r_0000000000', scope_id, sized(size)));
      const writing = store.commit([role, ...holdRoom(place)]);
      if (fits) await writing;
      else await assert.rejects(writing, isConflict, why);
      await store.close();
    }
  });

  test('of two who take the last room at once, on two nodes, one is refused', async () => {
    const place = await newPlace();
    const one = await place.open('one');
    // SQLite has one node, whose writes come one after the other.
    const other = one.engine === 'postgres' ? await place.open('other') : one;
    const roles = ['r_0000000001', 'r_0000000002'] as const;
    const empty = roles.map((id) => insertResource(placed(id, PROJECT, bodyOf([]))));
    await one.commit([...SCOPES.map(insertResource), ...empty]);
    const body = sized(MOST_OF_SCOPE - 5000);
    const grow = (store: typeof one, id: string): Promise<unknown> =>
      store.commit([changeResource(id, 1, { body }), ...holdRoom(HERE)]);
    const outcomes = await Promise.allSettled([grow(one, roles[0]), grow(other, roles[1])]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });
});
