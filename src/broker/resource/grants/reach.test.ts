import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGrant } from './grant.ts';
import { type EffectiveGrant, Reach } from './reach.ts';

function held(role_id: string, role_scope_id: string, grant_scope_ids: string[]): EffectiveGrant {
  const reading = parseGrant('ids=*;type=target;actions=read');
  assert.ok(reading.valid);
  return { grant: reading.grant, role_id, role_scope_id, grant_scope_ids };
}

const at = (scope_id: string, parent_scope_id: string) => ({ scope_id, parent_scope_id });
const GLOBAL = at('global', '');
const ORG = at('o_1', 'global');
const PROJECT = at('p_1', 'o_1');
const OTHER = at('p_2', 'o_1');

const cases: [role_scope: string, where: string[], place: typeof GLOBAL, reaches: boolean, why: string][] = [
  ['p_1', ['this'], PROJECT, true, 'its own scope'],
  ['p_1', ['this'], OTHER, false, 'another'],
  ['o_1', ['this'], PROJECT, false, 'not what lies in its own'],
  ['o_1', ['children'], PROJECT, true, 'what lies in its own'],
  ['o_1', ['children'], ORG, false, 'not its own'],
  ['global', ['children'], ORG, true, 'orgs'],
  ['global', ['children'], PROJECT, false, 'not what lies in orgs'],
  ['global', ['children'], GLOBAL, false, 'nor the global scope'],
  ['global', ['descendants'], PROJECT, true, 'everything beneath'],
  ['global', ['descendants'], GLOBAL, false, 'not itself'],
  ['o_1', ['descendants'], PROJECT, false, 'only of the global scope'],
  ['global', ['p_1'], PROJECT, true, 'a scope that is named'],
  ['global', ['p_1'], OTHER, false, 'not another'],
  ['global', ['this', 'descendants'], GLOBAL, true, 'either of two'],
]; // biome-ignore format: one table

for (const [role_scope, where, place, reaches, why] of cases) {
  test(`a role of ${role_scope} for ${where} in ${place.scope_id}: ${why}`, () => {
    const { bundles } = new Reach([held('r_1', role_scope, where)]).find(place);
    assert.equal(bundles.flat(2).length, reaches ? 1 : 0);
  });
}

test('where the same roles reach for the same reasons it is the same that applies', () => {
  const reach = new Reach([held('r_1', 'global', ['descendants']), held('r_2', 'o_1', ['p_2'])]);
  const [one, same, other] = [PROJECT, at('p_9', 'o_9'), OTHER].map((place) => reach.find(place));
  assert.equal(one, same);
  assert.notEqual(one, other);
  assert.equal(one?.bundles[0], other?.bundles[1], 'and of what else applies the part is');
});

test('roles that grant the very same are one: in thousands of projects the same applies', () => {
  const first = held('r', 'p', ['this']);
  const other = held('r', 'p', ['this']).grant;
  const roleOf = (n: number, grant = first.grant): EffectiveGrant => ({
    ...first,
    role_id: `r_${n}`,
    role_scope_id: `p_${n}`,
    grant,
  });
  const reach = new Reach([roleOf(1), roleOf(2), roleOf(3), roleOf(3, other), roleOf(4, other)]);
  const [one, two, both, four, none] = [1, 2, 3, 4, 5].map((n) => reach.find(at(`p_${n}`, 'o_1')));
  assert.equal(reach.roles, 4);
  assert.equal(one, two);
  assert.notEqual(two, both, 'one grants more');
  assert.notEqual(two, four, 'another grant');
  assert.deepEqual(both?.bundles.flat(2), [first.grant, other]);
  assert.deepEqual(none?.bundles, []);
});

test('as many different roles as there may be reach into one scope, each by itself', () => {
  const roles = Array.from({ length: 20 }, (_, n) => held(`r_${n}`, 'p_1', ['this', 'p_2']));
  const beside = held('r_20', 'p_3', ['this']);
  const reach = new Reach([...roles, { ...beside, grant: roles[0]?.grant ?? beside.grant }]);
  const grantsIn = (scope: string) => reach.find(at(scope, 'o_1')).bundles.flat(2);
  for (const scope of ['p_1', 'p_2']) {
    assert.deepEqual(new Set(grantsIn(scope)), new Set(roles.map(({ grant }) => grant)), scope);
    assert.equal(grantsIn(scope).length, 20);
  }
  assert.deepEqual(grantsIn('p_3'), [roles[0]?.grant]);
});
