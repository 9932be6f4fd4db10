import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkChange } from '../../resource/links/plan.ts';
import { faultOfGrantScope, planGrantScopes } from './grant-scopes.ts';

const PARENTS: Readonly<Record<string, string>> = {
  global: '',
  o_1: 'global',
  o_2: 'global',
  p_1: 'o_1',
  p_2: 'o_1',
  p_9: 'o_2',
};
const findScope = (id: string) => {
  const parent_scope_id = PARENTS[id];
  return parent_scope_id === undefined ? undefined : { parent_scope_id };
};
const SCOPES = {
  global: { id: 'global', type: 'global' },
  org: { id: 'o_1', type: 'org' },
  project: { id: 'p_1', type: 'project' },
} as const;

const rows: [
  role: keyof typeof SCOPES,
  change: LinkChange,
  present: string[],
  named: string[],
  outcome: string[] | RegExp,
  why: string,
][] = [
  ['project', 'add', [], ['this'], ['this'], 'a project reaches itself'],
  ['project', 'set', ['this'], ['p_1'], ['this'], 'by its id is the same'],
  ['project', 'add', ['this'], ['children'], /reaches only "this"/, 'it has no children'],
  ['project', 'add', [], ['p_2'], /reaches only "this"/, 'nor its sibling'],
  ['project', 'add', [], ['descendants'], /reaches only "this"/, 'nor descendants'],
  ['org', 'add', ['this'], ['children'], ['children', 'this'], 'an org and its projects'],
  ['org', 'set', [], ['p_1', 'p_2'], ['p_1', 'p_2'], 'some of its projects'],
  ['org', 'add', [], ['p_9'], /no project of the role's org/, 'not those of another org'],
  ['org', 'add', [], ['o_2'], /no project of the role's org/, 'not another org'],
  ['org', 'add', [], ['global'], /no project of the role's org/, 'not what is above'],
  ['org', 'add', [], ['descendants'], /only roles in global/, 'descendants are for global'],
  ['org', 'add', ['children'], ['p_1'], /"children" covers "p_1"/, 'what is covered'],
  ['org', 'set', [], ['children', 'p_1'], /"children" covers "p_1"/, 'at once'],
  ['org', 'add', [], ['o_1'], ['this'], 'its own id is "this"'],
  ['org', 'add', ['this'], ['o_1'], ['this'], 'which may be there already'],
  ['org', 'add', ['this'], ['this'], /"this" is there already/, 'unless it is named so'],
  ['org', 'set', [], ['this', 'o_1'], ['this'], 'both are one'],
  ['global', 'set', [], ['this', 'descendants'], ['descendants', 'this'], 'everything'],
  ['global', 'set', [], ['children', 'descendants'], /covers "children"/, 'one of the two'],
  ['global', 'set', [], ['descendants', 'p_1'], /"descendants" covers "p_1"/, 'covers each id'],
  ['global', 'set', [], ['children', 'o_1'], /"children" covers "o_1"/, 'covers each org'],
  ['global', 'set', [], ['children', 'p_1'], ['children', 'p_1'], 'but no project'],
  ['global', 'set', [], ['o_1', 'p_9'], ['o_1', 'p_9'], 'any scopes'],
  ['global', 'add', [], ['p_nope'], /there is no scope "p_nope"/, 'which must be there'],
  ['global', 'set', ['this'], [], [], 'an empty list clears'],
  ['global', 'remove', ['descendants', 'this'], ['this'], ['descendants'], 'one is taken away'],
  ['global', 'remove', ['this'], ['global'], [], 'by its id, too'],
  ['global', 'remove', ['this'], ['children'], /"children" is not there/, 'what is not there'],
  ['org', 'remove', ['p_gone'], ['p_gone'], [], 'a scope that is gone can be taken away'],
];

for (const [role, change, present, named, outcome, why] of rows) {
  test(`a role in ${role}: ${change} [${named}] to [${present}]: ${why}`, () => {
    const verdict = planGrantScopes(SCOPES[role], present, change, named, findScope);
    if (outcome instanceof RegExp) {
      assert.equal(verdict.allowed, false);
      assert.match(verdict.because, outcome);
    } else assert.deepEqual(verdict, { allowed: true, grant_scope_ids: outcome });
  });
}

test('a grant scope looks like one', () => {
  for (const id of ['this', 'children', 'descendants', 'global', 'o_1', 'p_1']) {
    assert.equal(faultOfGrantScope(id), undefined);
  }
  for (const id of ['', 'This', 'u_1', 'o-1', 'everything']) {
    assert.match(faultOfGrantScope(id) ?? '', /Unknown grant scope/);
  }
});
