import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine, type Open } from '../../../test/support/engines.ts';
import {
  expandTemplate,
  type IdentityFacts,
  isLookedUp,
  listSelectors,
} from '../../core/identity-template.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { insertAlias } from './aliases.store.ts';
import { insertEntity } from './entities.store.ts';
import { tellFacts, tellKeptFacts } from './facts.operations.ts';
import { findGroupById, insertGroup, updateGroup } from './groups.store.ts';
import { replaceMembers } from './memberships.store.ts';
import { findPerson } from './persons.operations.ts';

const TIMES = { created_at_ms: 0, updated_at_ms: 0 };
const LONG = 'l'.repeat(512);

/** Ann is in "Ops", and by that in "above"; "others" is not hers. */
async function openWithAnn(open: Open) {
  const { app } = await openTestApp(await open());
  const ann = { id: 'e1', name: 'ann', metadata: { own: 'mine' }, policies: [], disabled: false };
  const group = { type: 'internal' as const, policies: [], version: 1, ...TIMES };
  const alias = { entity_id: 'e1', moves: 0, ...TIMES };
  await app.store.commit([
    insertEntity({ ...ann, version: 1, ...TIMES }),
    insertAlias({
      ...alias,
      id: 'a1',
      mount_accessor: 'm1',
      name: 'ann@m1',
      custom_metadata: { floor: '3', long: LONG },
    }),
    insertAlias({
      ...alias,
      id: 'a2',
      mount_accessor: 'm2',
      name: 'ann@m2',
      custom_metadata: { floor: '4' },
    }),
    ...[
      { id: 'g1', name: 'Ops', metadata: { team: 'red', long: LONG } },
      { id: 'g2', name: 'above', metadata: { team: 'blue', long: LONG } },
      { id: 'g3', name: 'others', metadata: { team: 'green' } },
    ].map((one) => insertGroup({ ...group, ...one })),
    ...replaceMembers('g1', 'entity', ['e1']),
    ...replaceMembers('g2', 'group', ['g1']),
    ...bumpPermissionVersion(),
  ]);
  const identity = async (): Promise<IdentityFacts> => {
    await app.store.refreshConfig();
    const person = await findPerson(app, 'e1');
    assert.ok(person);
    return person.facts;
  };
  return { app, identity };
}

const cases: [inside: string, value: string | undefined][] = [
  ['identity.entity.name', 'ann'],
  ['identity.entity.metadata.own', 'mine'],
  ['identity.entity.aliases.m1.name', 'ann@m1'],
  ['identity.entity.aliases.m1.custom_metadata.floor', '3'],
  ['identity.entity.aliases.m2.custom_metadata.floor', '4'],
  ['identity.entity.aliases.m1.custom_metadata.absent', undefined],
  ['identity.entity.aliases.m1.metadata.floor', undefined],
  ['identity.entity.aliases.m3.custom_metadata.floor', undefined],
  ['identity.groups.names.Ops.id', 'g1'],
  ['identity.groups.names.ops.id', undefined],
  ['identity.groups.ids.g1.name', 'Ops'],
  ['identity.groups.ids.g1.metadata.team', 'red'],
  ['identity.groups.names.above.metadata.team', 'blue'],
  ['identity.groups.names.above.metadata.absent', undefined],
  ['identity.groups.names.above.metadata.__proto__', undefined],
  ['identity.groups.names.others.metadata.team', undefined],
  ['identity.groups.ids.g3.name', undefined],
  ['identity.groups.ids.Ops.name', undefined],
  ['identity.groups.names.nobody.id', undefined],
];

eachEngine('what templates name of somebody', (open) => {
  test('each template is filled with what it names, by itself and together with others', async () => {
    const { app, identity } = await openWithAnn(open);
    const facts = await identity();
    const fill = (inside: string, by: IdentityFacts) =>
      expandTemplate(`{{${inside}}}`, by, () => true);
    const all = cases.flatMap(([inside]) => listSelectors(`{{${inside}}}`));
    assert.equal(all.length, cases.length);
    const together = await tellFacts(app, facts, all);
    for (const [inside, value] of cases) {
      const alone = await tellFacts(app, facts, listSelectors(`{{${inside}}}`));
      assert.equal(fill(inside, alone), value, inside);
      assert.equal(fill(inside, together), value, `${inside}, with the others`);
    }
  });

  test('of groups and aliases nothing is known that no template names', async () => {
    const { app, identity } = await openWithAnn(open);
    const facts = await identity();
    assert.deepEqual(facts.groups, []);
    assert.ok(!JSON.stringify(facts).includes('floor'));
    assert.equal(await tellFacts(app, facts, listSelectors('{{identity.entity.name}}')), facts);
    const asked = '{{identity.groups.names.Ops.metadata.team}}';
    const told = await tellFacts(app, facts, listSelectors(asked));
    assert.deepEqual(told.groups, [{ id: 'g1', name: 'Ops', metadata: { team: 'red' } }]);
    assert.equal(told.entity.aliases, facts.entity.aliases);
  });

  test('what is told is kept for the same person and the same templates, until something changes', async () => {
    const { app, identity } = await openWithAnn(open);
    const ask = (facts: IdentityFacts, key: string) => {
      const selectors = listSelectors(`{{identity.groups.names.Ops.metadata.${key}}}`);
      return tellKeptFacts(app, facts, { selectors: selectors.filter(isLookedUp), key });
    };
    const facts = await identity();
    const told = await ask(facts, 'team');
    assert.equal(await ask(facts, 'team'), told);
    assert.deepEqual((await ask(facts, 'absent')).groups[0]?.metadata, {});
    assert.notEqual(await ask({ ...facts }, 'team'), told);
    const group = await findGroupById(app.db, 'g1');
    assert.ok(group);
    await app.store.commit([
      updateGroup({ ...group, metadata: { team: 'pink' } }),
      ...bumpPermissionVersion(),
    ]);
    const after = await ask(await identity(), 'team');
    assert.deepEqual(after.groups[0]?.metadata, { team: 'pink' });
  });
});
