import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilitiesAt, compiledAcl, judgedAccess } from '../../../test/support/judged.ts';
import { type Acl, boundAcl } from '../../acl/acl.ts';
import { expandPolicy } from '../../acl/policy.ts';
import { parsePolicy } from '../../acl/policy-reader.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { type BoundedToken, listPolicySets, type Making, planBounds } from './bounds.ts';

const MAKER: BoundedToken = { policies: ['dev', 'no-prod'], entity_id: 'e-1', restricted: false };
const LONE: BoundedToken = { ...MAKER, entity_id: '' };
const NARROW: BoundedToken = { ...MAKER, policies: ['dev'], restricted: true };

interface Case {
  made: string;
  parent?: BoundedToken;
  policies?: string[];
  orphan?: boolean;
  any_policy?: boolean;
  may_leave?: boolean;
  /** What it is judged by, one after the other. */
  sets: string[][];
}

const OUTER = ['dev', 'no-prod', 'team'];

const cases: Case[] = [
  { made: 'a child of all policies', policies: ['dev', 'no-prod'], sets: [OUTER] },
  { made: 'a child of fewer', policies: ['dev'], sets: [['dev'], OUTER] },
  {
    made: 'a child of fewer, where there is no entity',
    parent: LONE,
    policies: ['dev'],
    sets: [['dev'], ['dev', 'no-prod']],
  },
  {
    made: 'a child of all policies, where there is no entity',
    parent: LONE,
    policies: ['dev', 'no-prod'],
    sets: [['dev', 'no-prod']],
  },
  {
    made: 'a child of one that an older server narrowed',
    parent: NARROW,
    policies: ['dev'],
    sets: [['dev'], ['dev', 'team']],
  },
  {
    made: 'a child by a role that lists its policies',
    policies: ['prod'],
    any_policy: true,
    sets: [['prod'], ['prod', 'team']],
  },
  {
    made: 'a child of named policies by sudo',
    policies: ['prod'],
    any_policy: true,
    may_leave: true,
    sets: [['prod'], ['prod', 'team']],
  },
  {
    made: 'an orphan of all policies by a role',
    policies: ['dev', 'no-prod'],
    orphan: true,
    sets: [['dev', 'no-prod'], OUTER],
  },
  {
    made: 'an orphan of fewer by a role',
    policies: ['dev'],
    orphan: true,
    sets: [['dev'], OUTER],
  },
  {
    made: 'an orphan by a role that lists its policies',
    policies: ['prod'],
    orphan: true,
    any_policy: true,
    sets: [['prod'], ['prod', 'team']],
  },
  {
    made: 'an orphan by sudo',
    policies: ['dev'],
    orphan: true,
    any_policy: true,
    may_leave: true,
    sets: [['dev']],
  },
  {
    made: 'a child of root',
    parent: { ...MAKER, policies: ['root'] },
    policies: ['dev'],
    any_policy: true,
    may_leave: true,
    sets: [['dev'], ['dev', 'team']],
  },
];

function childOf(making: Making): BoundedToken {
  const { policies, parent, is_orphan } = making;
  return {
    policies,
    entity_id: is_orphan ? '' : parent.entity_id,
    restricted: parent.restricted || policies.join() !== parent.policies.join(),
    bounds: planBounds(making),
  };
}

function makingOf({ parent = MAKER, policies = [], orphan = false, ...more }: Case): Making {
  const { any_policy = false, may_leave = false } = more;
  const making = { parent, policies, entity_policies: ['team'], is_orphan: orphan };
  return { ...making, any_policy, may_leave };
}

const namesOf = (token: BoundedToken, given: string[]) =>
  listPolicySets(token, given).map(({ policies }) => policies);

for (const given of cases) {
  const words = given.sets.map((names) => names.join(' + ')).join(', and by ');
  test(`${given.made} is judged by ${words}`, () => {
    const child = childOf(makingOf(given));
    assert.deepEqual(namesOf(child, child.entity_id === '' ? [] : ['team']), given.sets);
  });
}

test('what bounds a token bounds those that are made from it, whatever is left out on the way', () => {
  const parent = childOf(makingOf({ made: '', policies: ['dev'], orphan: true, sets: [] }));
  const same = childOf(makingOf({ made: '', parent, policies: ['dev'], sets: [] }));
  assert.deepEqual(namesOf(same, []), [['dev'], OUTER]);
  const less = childOf(makingOf({ made: '', parent, policies: [], sets: [] }));
  assert.deepEqual(namesOf(less, []), [[], ['dev'], OUTER]);
  const byRole = childOf(
    makingOf({ made: '', parent: less, policies: ['prod'], any_policy: true, sets: [] }),
  );
  assert.deepEqual(namesOf(byRole, []), [['prod'], ['prod', 'team']]);
});

test('an orphan is filled for nobody, and what bounds it for whom it comes from', () => {
  const made = childOf(
    makingOf({ made: '', policies: ['dev', 'no-prod'], orphan: true, sets: [] }),
  );
  const child = childOf(makingOf({ made: '', parent: made, policies: ['dev'], sets: [] }));
  assert.deepEqual(
    listPolicySets(child, []).map(({ entity_id }) => entity_id),
    ['', '', 'e-1'],
  );
});

test('a line of tokens with ever fewer policies comes to an end', () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);
  let parent: BoundedToken = { policies: names(10), entity_id: '', restricted: false };
  const next = (count: number) =>
    childOf(makingOf({ made: '', parent, policies: names(count), sets: [] }));
  for (let count = 9; count > 1; count--) parent = next(count);
  assert.throws(() => next(1), /at most 8 tokens above another/);
  // One with the same policies is no further from the first.
  assert.equal(next(2).bounds?.ceilings.length, 8);
});

// Random policies, makers and makings; whatever a token may do, whoever made it may do.

/** A generator of numbers below 2^32, the same ones for the same seed (xorshift). */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const SEGMENTS = [
  'a',
  'b',
  '+',
  '{{identity.entity.metadata.k}}',
  'x{{identity.entity.metadata.none}}',
];
const WORDS = ['create', 'read', 'update', 'delete', 'list', 'patch', 'sudo'];
const CONDITIONS = [
  'denied_parameters = { "p" = ["1"] }',
  'allowed_parameters = { "p" = ["1"] }',
  'required_parameters = ["p"]',
  'min_wrapping_ttl = "10s"',
  'max_wrapping_ttl = "20s"',
  'pagination_limit = 5',
];

type Pick = (below: number) => number;
const oneOf = <Of>(pick: Pick, all: readonly Of[]): Of => all[pick(all.length)] as Of;

function randomStanza(pick: Pick): string {
  const path = Array.from({ length: 1 + pick(3) }, () => oneOf(pick, SEGMENTS)).join('/');
  const open = pick(2) === 0 && !path.endsWith('+') ? '*' : '';
  const granted = pick(5) === 0 ? ['deny'] : WORDS.filter(() => pick(3) > 0);
  const condition = pick(4) === 0 ? oneOf(pick, CONDITIONS) : '';
  return `path "${path}${open}" { capabilities = ${JSON.stringify(granted)} ${condition} }`;
}

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const FACTS: IdentityFacts = {
  entity: { id: 'e-1', name: 'e', metadata: { k: 'a' }, aliases: {} },
  groups: [],
};

/** As permissions are read. */
function aclOf(policies: ReadonlyMap<string, string>, token: BoundedToken, given: string[]): Acl {
  const parsed = (name: string) => parsePolicy(policies.get(name) ?? '');
  return listPolicySets(token, token.entity_id === '' ? [] : given)
    .map(({ policies: names, entity_id }) => {
      const facts = entity_id === '' ? undefined : FACTS;
      return compiledAcl(
        names.map((name) => expandPolicy(parsed(name), facts)),
        0,
      );
    })
    .reduce(boundAcl);
}

const PATHS = ['a', 'b', 'a/a', 'a/b', 'b/a', 'xq/a', 'a/xq', 'a/b/a', 'a/xq/b', 'q/b/b'];

async function allowedTo(acl: Acl): Promise<Set<string>> {
  const allowed = new Set<string>();
  for (const path of PATHS) {
    for (const word of await capabilitiesAt(acl, path)) allowed.add(`${path} can ${word}`);
    for (const operation of ['create', 'read', 'update', 'delete', 'list', 'patch'] as const) {
      for (const sent of [{}, { p: '1' }, { p: '2' }, { q: '1', limit: 3 }]) {
        for (const wrapTtl of [undefined, 5, 15, 25]) {
          for (const sudoRequired of [false, true]) {
            const asked = { path, operation, parameters: sent, wrapTtl, sudoRequired };
            if (judgedAccess(acl, asked).allowed) allowed.add(JSON.stringify(asked));
          }
        }
      }
    }
  }
  for (const path of PATHS) allowed.delete(`${path} can deny`);
  return allowed;
}

test('a token is allowed nothing that its maker is not, whatever the policies and makings', async () => {
  let compared = 0;
  let narrowed = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const pick = numbers(seed);
    const texts = new Map(
      NAMES.map((name) => [
        name,
        Array.from({ length: 1 + pick(4) }, () => randomStanza(pick)).join(' '),
      ]),
    );
    const given = NAMES.filter(() => pick(3) === 0);
    let parent: BoundedToken = {
      policies: NAMES.filter(() => pick(4) > 0),
      entity_id: pick(4) === 0 ? '' : 'e-1',
      restricted: pick(4) === 0,
    };
    let before = await allowedTo(aclOf(texts, parent, given));
    for (let step = 0; step < 3; step++) {
      const policies = parent.policies.filter(() => pick(4) > 0);
      const making = { parent, policies, entity_policies: given, is_orphan: pick(3) === 0 };
      const child = childOf({ ...making, any_policy: false, may_leave: false });
      const now = await allowedTo(aclOf(texts, child, given));
      assert.deepEqual(
        [...now].filter((one) => !before.has(one)),
        [],
        `seed ${seed}, ${step}`,
      );
      compared += now.size;
      if (now.size < before.size) narrowed++;
      [parent, before] = [child, now];
    }
  }
  assert.ok(compared > 5000 && narrowed > 50, `${compared} allowed, ${narrowed} narrowed`);
});
