import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuUntil, spendsAtMost } from '../../test/support/cpu-time.ts';
import { capabilitiesAt, compiledAcl, judgedAccess } from '../../test/support/judged.ts';
import { holdBounds } from '../../test/support/machine.ts';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { judgeAccess } from './acl.ts';
import { hasAccessBeneath } from './grants-beneath.ts';
import { POLICY_LIMITS, TOKEN_LIMITS } from './policy-limits.ts';
import { parsePolicy } from './policy-reader.ts';
import { RuleWalk } from './rule-walk.ts';

const { stanzas } = POLICY_LIMITS;

/** As many stanzas as all policies of one token may have. */
function policiesOf(stanza: (place: number) => string) {
  return Array.from({ length: TOKEN_LIMITS.stanzas / stanzas }, (_, policy) => {
    const texts = Array.from({ length: stanzas }, (__, at) => stanza(policy * stanzas + at));
    return parsePolicy(texts.join('\n'));
  });
}

const costly: [what: string, stanza: (place: number) => string][] = [
  ['one path that requires many parameters', (n) => `path "a" { required_parameters = ["p${n}"] }`],
  ['one path that allows many', (n) => `path "a" { allowed_parameters = { "p${n}" = ["x"] } }`],
  ['one parameter of many values', (n) => `path "+/a" { denied_parameters = { "p" = ["${n}"] } }`],
  ['paths of their own', (n) => `path "secret/${n}" { capabilities = ["read"] }`],
  ['one segment that tells', (n) => `path "+/x${n}/*" { capabilities = ["read", "list"] }`],
  ['a far segment that tells', (n) => `path "+/+/z${n}/+/*" { capabilities = ["read"] }`],
  ['the beginning of a segment', (n) => `path "+/x${n}*" { capabilities = ["read"] }`],
  ['names in capitals', (n) => `path "auth/+/users/B${n}*" { capabilities = ["read"] }`],
];

for (const [what, stanza] of costly) {
  test(`as many stanzas as may be, ${what}: merged at once, and asked a thousand times`, async () => {
    const policies = policiesOf(stanza);
    let acl = compiledAcl([], 0);
    // Some 5 to 25 ms; one by one, what they require took 1,900 ms.
    const merge = (): void => {
      acl = compiledAcl(policies, 0);
    };
    await spendsAtMost(250, merge, { attempts: 1 });
    // Some 5 to 40 ms; rule by rule it took 1,000 ms.
    const ask = async (): Promise<void> => {
      for (let at = 0; at < 1000; at++) {
        await judgeAccess(acl, { path: `q/zz/b${at}/a/b`, operation: 'list', sudoRequired: false });
        await capabilitiesAt(acl, `auth/q/users/joe${at}`, [{ at: 3, form: 'lower_case' }]);
      }
    };
    await holdBounds({ work: 400 }, async () => ({ work: await cpuUntil(ask) }));
  });
}

test('stanzas of one path are one rule, whatever order they come in', () => {
  const parts = [
    'path "a/+" { capabilities = ["read"] min_wrapping_ttl = "5s" max_wrapping_ttl = "90s" }',
    'path "a/+" { capabilities = ["update"] min_wrapping_ttl = "3s" allowed_parameters = { "p" = ["1"] } }',
    'path "a/+" { required_parameters = ["p"] allowed_parameters = { "p" = ["2"] "q" = [] } }',
  ];
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ];
  for (const order of orders) {
    const acl = compiledAcl([parsePolicy(order.map((at) => parts[at]).join('\n'))], 0);
    const may = (parameters: Record<string, unknown>, wrapTtl: number | undefined): boolean => {
      const asked = { path: 'a/b', operation: 'update', sudoRequired: false } as const;
      return judgedAccess(acl, { ...asked, parameters, wrapTtl }).allowed;
    };
    assert.equal(may({ p: '1' }, 4), true);
    assert.equal(may({ p: '2', q: 'any' }, 90), true);
    assert.equal(may({ p: '3' }, 4), false);
    assert.equal(may({ q: 'any' }, 4), false, 'p is required');
    assert.equal(may({ p: '1' }, 2), false, 'wrapped for too short');
    assert.equal(may({ p: '1' }, 91), false, 'wrapped for too long');
    assert.equal(may({ p: '1', r: 'x' }, 4), false);
  }
});

test('one stanza that denies takes away what any number of others grant', () => {
  const grants = Array.from({ length: 50 }, () => 'path "a" { capabilities = ["read"] }');
  const asked = { path: 'a', operation: 'read', sudoRequired: false } as const;
  const mayRead = (texts: readonly string[]): boolean =>
    judgedAccess(compiledAcl([parsePolicy(texts.join('\n'))], 0), asked).allowed;
  const denial = 'path "a" { capabilities = ["deny"] }';
  for (const at of [0, 25, 50]) assert.equal(mayRead(grants.toSpliced(at, 0, denial)), false);
  assert.equal(mayRead(grants.toSpliced(0, 0, 'path "b" { capabilities = ["deny"] }')), true);
});

test('which mounts are shown to somebody of as many stanzas as may be is found out in short turns', async () => {
  const denials = ['demo/+/+/+', `demo${'/+'.repeat(66)}`].map(
    (path) => `path "${path}" { capabilities = ["deny"] }`,
  );
  const policies = policiesOf((n) =>
    n < 2 ? (denials[n] ?? '') : `path "demo/+/+/z${n}*" { capabilities = ["read"] }`,
  );
  let acl = compiledAcl([], 0);
  // It remembers what it has found out.
  const prepare = async (): Promise<void> => {
    acl = compiledAcl(policies, 0);
  };
  await holdsNobodyUp(
    async () => {
      assert.equal(await hasAccessBeneath(acl, 'demo/', new RuleWalk()), false);
    },
    { prepare },
  );
});
