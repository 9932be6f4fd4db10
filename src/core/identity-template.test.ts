import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expandTemplate,
  type IdentityFacts,
  isLookedUp,
  listSelectors,
  weighFacts,
} from './identity-template.ts';

const ann: IdentityFacts = {
  entity: {
    id: 'e-1',
    name: 'ann',
    metadata: { team: 'red', 'a.b': 'dotted', none: '' },
    aliases: {
      auth_userpass_1: {
        id: 'al-1',
        name: 'ann@corp',
        metadata: { k: 'm' },
        custom_metadata: { k: 'c' },
      },
    },
  },
  groups: [{ id: 'g-1', name: 'ops.eu', metadata: { floor: '3' } }],
};

const cases: [template: string, filled: string | undefined][] = [
  ['plain', 'plain'],
  ['{{identity.entity.name}}.x', 'ann.x'],
  ['{{ identity.entity.id }}', 'e-1'],
  ['{{identity.entity.name}}-{{identity.entity.metadata.team}}', 'ann-red'],
  ['{{identity.entity.metadata.a.b}}', 'dotted'],
  ['{{identity.entity.metadata.none}}', undefined],
  ['{{identity.entity.metadata.absent}}', undefined],
  ['{{identity.entity.metadata.constructor}}', undefined],
  ['{{identity.entity.metadata.__proto__}}', undefined],
  ['{{identity.entity.name.x}}', undefined],
  ['{{identity.entity.aliases.auth_userpass_1.name}}', 'ann@corp'],
  ['{{identity.entity.aliases.auth_userpass_1.id}}', 'al-1'],
  ['{{identity.entity.aliases.auth_userpass_1.metadata.k}}', 'm'],
  ['{{identity.entity.aliases.auth_userpass_1.custom_metadata.k}}', 'c'],
  ['{{identity.entity.aliases.auth_userpass_2.name}}', undefined],
  ['{{identity.groups.ids.g-1.name}}', 'ops.eu'],
  ['{{identity.groups.ids.g-1.metadata.floor}}', '3'],
  ['{{identity.groups.ids.g-2.name}}', undefined],
  ['{{identity.groups.names.ops.eu.id}}', 'g-1'],
  ['{{identity.entity.name', undefined],
  ['{{identity.entity.name}}}}', undefined],
  ['{{entity.name}}', undefined],
];

for (const [template, filled] of cases) {
  test(`${template} becomes ${filled ?? 'nothing'}`, () => {
    assert.equal(
      expandTemplate(template, ann, () => true),
      filled,
    );
  });
}

test('without an entity nothing is filled in, and neither is a value that could do harm', () => {
  assert.equal(
    expandTemplate('{{identity.entity.name}}', undefined, () => true),
    undefined,
  );
  assert.equal(
    expandTemplate('{{identity.entity.name}}', ann, (value) => value !== 'ann'),
    undefined,
  );
});

test('facts weigh what they say, wherever they say it', () => {
  const pair = { key: 'v'.repeat(10_000) };
  const entity = { id: 'e', name: 'e', metadata: {}, aliases: {} };
  const none = weighFacts({ entity, groups: [] });
  const alias = { id: 'a', name: 'a', metadata: {}, custom_metadata: {} };
  const forms: IdentityFacts[] = [
    { entity: { ...entity, metadata: pair }, groups: [] },
    { entity, groups: [{ id: 'g', name: 'g', metadata: pair }] },
    { entity: { ...entity, aliases: { m: { ...alias, metadata: pair } } }, groups: [] },
    { entity: { ...entity, aliases: { m: { ...alias, custom_metadata: pair } } }, groups: [] },
  ];
  for (const form of forms) assert.ok(weighFacts(form) >= none + 20_000, JSON.stringify(form));
});

const named: [text: string, found: string[], lookedUp: string[]][] = [
  ['plain', [], []],
  ['{{identity.entity.name}}.x', ['entity'], []],
  ['{{identity.entity.metadata.k}}', ['entity_metadata'], []],
  ['{{identity.entity.aliases.m.name}}', ['alias'], []],
  ['{{identity.entity.aliases.m.custom_metadata.k}}', ['alias_metadata'], ['alias_metadata']],
  ['a{{ identity.groups.ids.g.name }}b', ['group'], ['group']],
  ['{{identity.groups.names.g.metadata.k}}', ['group_metadata'], ['group_metadata']],
  ['{{identity.entity.id}}{{identity.groups.names.g.id}}', ['entity', 'group'], ['group']],
  ['{{nothing}}{{identity.groups.names.g.id}}', ['group'], ['group']],
  ['{{identity.groups.names.g.id', [], []],
];

for (const [text, found, lookedUp] of named) {
  test(`"${text}" names ${found.join(' and ') || 'nothing'}, of which ${lookedUp.join() || 'nothing'} is looked up`, () => {
    const selectors = listSelectors(text);
    assert.deepEqual(
      selectors.map(({ of }) => of),
      found,
    );
    assert.deepEqual(
      selectors.filter(isLookedUp).map(({ of }) => of),
      lookedUp,
    );
  });
}
