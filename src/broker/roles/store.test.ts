import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../../test/support/engines.ts';
import { makeResource } from '../../../test/support/resources.ts';
import { Failure } from '../../core/failure.ts';
import type { Resource } from '../resource.ts';
import { changeResource, insertResource } from '../resources/store.ts';
import type { RoleBody } from './role.ts';
import { faultOfRoom, MOST_OF_ORG, MOST_OF_SCOPE, sizeOfGrants } from './room.ts';
import { holdRoom, sumGrants } from './store.ts';

const isConflict = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'conflict';

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
  ['some', bodyOf(['ids=*;type=target;actions=read', 'type=role;actions=list', 'ids=u_1;actions=read'])],
  ['JSON', bodyOf(['{"ids":["ttcp_1","ttcp_2"],"actions":["read"]}', 'type=role;actions=list'])],
  ['templates', bodyOf(['ids={{.User.Id}},{{.User.Id}};actions=read', 'ids={{ user.id }};actions=*'])],
  ['letters of more bytes', bodyOf(['ids=*;type=target;actions=read;output_fields=größe,名'])],
  ['many scopes', { grant_strings: [], grant_scope_ids: [ORG, PROJECT, 'this'] }],
]; // biome-ignore format: one table

/** Roles that are there, where another one of some size goes, and whether it may. */
const ROWS: [there: [scope_id: string, size: number][], scope_id: string, size: number, fits: boolean, why: string][] = [
  [[], PROJECT, MOST_OF_SCOPE, true, 'all that a scope may have'],
  [[], PROJECT, MOST_OF_SCOPE + 1, false, 'a byte more'],
  [[[PROJECT, MOST_OF_SCOPE - 100]], PROJECT, 100, true, 'the last bytes of a scope'],
  [[[PROJECT, MOST_OF_SCOPE - 100]], PROJECT, 101, false, 'a byte more than the last'],
  [[[ORG, MOST_OF_SCOPE]], PROJECT, MOST_OF_SCOPE, true, 'the org is another scope'],
  [[0, 2].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), PROJECT, MOST_OF_SCOPE, true, 'all that an org may have'],
  [[0, 2].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE - (n === 0 ? 0 : 1)]), ORG, MOST_OF_SCOPE, true, 'and less'],
  [[0, 2, 3].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), PROJECT, 100, false, 'more than an org may have'],
  [[0, 2, 3].map((n) => [`p_000000000${n}`, MOST_OF_SCOPE]), 'p_0000000029', 100, true, 'another org has its own'],
  [[['global', MOST_OF_ORG]], PROJECT, 100, true, 'global has its own'],
  [[[ORG, MOST_OF_SCOPE], ['global', MOST_OF_ORG - 100]], 'global', 100, true, 'in which orgs do not count'],
  [[['global', MOST_OF_ORG - 100]], 'global', 101, false, 'and which has an end as well'],
]; // biome-ignore format: one table

const orgOf = (scope_id: string): string =>
  scope_id === 'p_0000000029' ? 'o_0000000002' : scope_id.startsWith('p_') ? ORG : scope_id;

eachPlace('the room for grants', (newPlace) => {
  test('the database counts as the rule does', async () => {
    const store = await (await newPlace()).open();
    await store.commit(SCOPES.map(insertResource));
    let sum = 0;
    for (const [at, [what, body]] of BODIES.entries()) {
      await store.commit([insertResource(placed(`r_000000000${at}`, PROJECT, body))]);
      sum += sizeOfGrants(body);
      assert.deepEqual(await sumGrants(store.db, HERE), { org: sum, scope: sum }, what);
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
    const body = sized(MOST_OF_SCOPE - 1000);
    const grow = (store: typeof one, id: string): Promise<unknown> =>
      store.commit([changeResource(id, 1, { body }), ...holdRoom(HERE)]);
    const outcomes = await Promise.allSettled([grow(one, roles[0]), grow(other, roles[1])]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });
});
