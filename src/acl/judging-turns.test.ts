// The judging that every request passes, before its body is read and after, under policies that are
// written to take long: others have their turn meanwhile, however many such requests come at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compiledAcl } from '../../test/support/judged.ts';
import { holdBounds } from '../../test/support/machine.ts';
import { holdsNobodyUp, longestTurn } from '../../test/support/turns.ts';
import { doInTurns } from '../core/steps.ts';
import type { Asked } from './access-request.ts';
import { type Acl, compileAcl, isDenied, judgeAccess, judgeGrants } from './acl.ts';
import { MOST_COMPARISONS } from './comparisons.ts';
import type { FormedSegment } from './name-form.ts';
import { expandPolicy, type Policy } from './policy.ts';
import { TOKEN_LIMITS } from './policy-limits.ts';
import { parsePolicy } from './policy-reader.ts';
import { TOO_MUCH } from './verdict.ts';

const KEY = '{{identity.entity.id}}';
const bitsOf = (n: number, one: string, none: string): string =>
  [...n.toString(2).padStart(14, '0')].map((bit) => (bit === '1' ? one : none)).join('/');
const deny = (path: string): string => `path "${path}" { policy = "deny" }`;
const grant = (path: string): string => `path "${path}" { capabilities = ["read", "list"] }`;
const ALL_BITS = bitsOf(0, 'b', 'b');

function policyOf(stanza: (n: number) => string, more: string): Policy {
  const stanzas = Array.from({ length: TOKEN_LIMITS.stanzas - 1 }, (_, n) => stanza(n));
  return expandPolicy(parsePolicy([...stanzas, more].join('\n')), undefined);
}

type Case = [what: string, stanza: (n: number) => string, path: string, formed: FormedSegment[]];

const USER: FormedSegment[] = [{ at: 3, form: 'lower_case' }];

const CASES: Case[] = [
  ['denials of whoever has no name, all about one path', (n) => deny(`a/${KEY}/${bitsOf(n, 'b', '+')}`), `a/x/${ALL_BITS}`, []],
  ['the same with a rest', (n) => deny(`a/${KEY}/${bitsOf(n, 'b', '+')}/*`), `a/x/${ALL_BITS}/c`, []],
  ['denials that nothing but their names tells apart', (n) => deny(`a/${KEY}${n}`), `a/${'x'.repeat(200)}`, []],
  ['patterns that no segment tells apart', (n) => grant(`+/+/${bitsOf(n, 'a', 'b')}`), `x/y/${ALL_BITS}`, []],
  ['heads of all lengths', (n) => grant(`${'h'.repeat(n % 90)}${n}/+`), `${'h'.repeat(200)}/x`, []],
  ['names in capitals', (n) => grant(`auth/+/users/B${n}*`), 'auth/up/users/boss', USER],
  ['names in capitals in denials of whoever has no name', (n) => deny(`auth/${KEY}/users/B${n}*`), 'auth/up/users/b777', USER],
]; // biome-ignore format: one case a line

const askedOf = (path: string, formed: FormedSegment[], operation: 'read' | 'list'): Asked => ({
  path: operation === 'list' ? `${path}/` : path,
  formed,
  operation,
  sudoRequired: false,
});

async function judgeWhole(acl: Acl, asked: Asked): Promise<void> {
  const budget = { left: MOST_COMPARISONS };
  await judgeGrants(acl, asked, budget);
  await judgeAccess(acl, { ...asked, budget });
  await isDenied(acl, asked, { left: MOST_COMPARISONS });
}

for (const [what, stanza, path, formed] of CASES) {
  test(`as many stanzas as may be, ${what}: twenty requests at once are judged in short turns`, async () => {
    const policy = policyOf(stanza, grant('other'));
    let acl = compiledAcl([policy], 0);
    await holdsNobodyUp(
      async () => {
        const requests = Array.from({ length: 20 }, (_, at) =>
          judgeWhole(acl, askedOf(path, formed, at % 2 ? 'read' : 'list')),
        );
        await Promise.all(requests);
      },
      // What was made of a table is kept with it.
      { prepare: async () => { acl = compiledAcl([policy], 0); } },
    ); // biome-ignore format: short
  });

  test(`as many stanzas as may be, ${what}: they are merged in short turns`, async () => {
    const policies = [policyOf(stanza, grant('other'))];
    await holdBounds({ turn: 25 }, async () => ({
      turn: await longestTurn(async () => {
        await doInTurns(compileAcl(policies, 0));
      }),
    }));
  });
}

test('what takes longer to judge than one request may is refused, before its body is read', async () => {
  const [, stanza, path] = CASES[0] ?? assert.fail();
  const acl = compiledAcl([policyOf(stanza, grant(path))], 0);
  const asked = askedOf(path, [], 'read');
  const few = { left: 10_000 };
  assert.equal(await judgeGrants(acl, asked, few), TOO_MUCH);
  assert.equal(await judgeAccess(acl, { ...asked, budget: few }), TOO_MUCH);
  assert.equal(await isDenied(acl, asked, few), true);
  // An exact rule outranks every pattern that has a wildcard, whatever fills its template.
  assert.equal((await judgeGrants(acl, asked, { left: MOST_COMPARISONS })).allowed, true);
  const exact = compiledAcl(
    [policyOf(stanza, `${grant(path)} ${deny(`a/${KEY}/${ALL_BITS}`)}`)],
    0,
  );
  assert.equal((await judgeGrants(exact, asked, { left: MOST_COMPARISONS })).allowed, false);
});
