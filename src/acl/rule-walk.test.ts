// Looking through all rules of a token, each judged by all others, under policies made to take long.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuUntil } from '../../test/support/cpu-time.ts';
import { capabilitiesAt, compiledAcl } from '../../test/support/judged.ts';
import { holdBounds } from '../../test/support/machine.ts';
import { longestTurn } from '../../test/support/turns.ts';
import { Failure } from '../core/failure.ts';
import { type Acl, boundAcl } from './acl.ts';
import { listCapabilities, listGrants } from './grants.ts';
import { hasAccessBeneath } from './grants-beneath.ts';
import { expandPolicy, type Policy } from './policy.ts';
import { TOKEN_LIMITS } from './policy-limits.ts';
import { parsePolicy } from './policy-reader.ts';
import { RuleWalk } from './rule-walk.ts';

const NAME = '{{identity.entity.name}}';
const read = (path: string) => `path "${path}" { capabilities = ["read"] }`;
const deny = (path: string) => `path "${path}" { capabilities = ["deny"] }`;
const asked = (path: string) => `path "${path}" { policy = "read" required_parameters = ["p"] }`;

/** A policy of as many stanzas as a token may have, or as fit into its texts. */
function policyOf(stanza: (n: number) => string): Policy {
  const stanzas: string[] = [];
  let characters = 0;
  for (let n = 0; n < TOKEN_LIMITS.stanzas; n++) {
    const text = stanza(n);
    characters += text.length + 1;
    if (characters > TOKEN_LIMITS.text) break;
    stanzas.push(text);
  }
  return expandPolicy(parsePolicy(stanzas.join('\n')), undefined);
}

/** A token that was made by way of so many others which had the same. */
const aclOf = (policy: Policy, tables: number): Acl =>
  Array.from({ length: tables }, () => compiledAcl([policy], 0)).reduce((own, bound) =>
    boundAcl(own, bound),
  );

/** Most of them take away, so that the others are judged by them. */
const guarded = (guard: (n: number) => string, path: (n: number) => string) => (n: number) =>
  n % 5 === 0 ? read(path(n)) : guard(n);

const denials = guarded(
  (n) => deny(`a/${NAME}-${n}`),
  (n) => `a/${n}`,
);

const bitsOf = (n: number, one: string, none: string): string[] =>
  [...n.toString(2).padStart(14, '0')].map((bit) => (bit === '1' ? one : none));

const MADE: [what: string, stanza: (n: number) => string][] = [
  ['denials of names that nobody has', denials],
  [
    'denials with a text in their middle',
    guarded(
      (n) => deny(`a/${NAME}x${n}${NAME}`),
      (n) => `a/${'x'.repeat(60)}${n}`,
    ),
  ],
  [
    'conditions that all match',
    guarded(
      (n) => asked(`a/${NAME}${bitsOf(n, 'b', 'bb').join('')}*`),
      (n) => `a/${'b'.repeat(40)}${n}`,
    ),
  ],
  ['patterns that differ in one of nine segments', (n) => read(`+/a/b/c/d/m${n}/e/f/g/h`)],
  [
    'patterns that differ in where their wildcards are',
    (n) => read(`+/${bitsOf(n, 'b', '+').join('/')}`),
  ],
  [
    'patterns that end everywhere',
    (n) => read(`a/+/${'+/'.repeat(n % 50)}${'x'.repeat(1 + Math.floor(n / 50))}*`),
  ],
  ['names', (n) => read(`a/${n}`)],
];

/** Milliseconds: some 15 and 250 on a machine that is busy. */
const BOUNDS = { turn: 50, whole: 900 };

const WORK: [what: string, work: (acl: Acl, walk: RuleWalk) => Promise<unknown>][] = [
  ['all grants are listed', listGrants],
  ['something is looked for beneath a prefix', (acl, walk) => hasAccessBeneath(acl, 'a/', walk)],
  [
    'something is looked for beneath five thousand mounts',
    async (acl, walk) => {
      for (let at = 0; at < 5000; at++) await hasAccessBeneath(acl, `m${at}/`, walk);
    },
  ],
  [
    'many paths are asked about',
    async (acl, walk) => {
      for (let at = 0; at < 256; at++) await listCapabilities(acl, `a/${'b'.repeat(at)}`, walk);
    },
  ],
];

for (const [what, stanza] of MADE) {
  const policy = policyOf(stanza);
  test(`under nine tables of as many ${what} as may be, a look at all rules comes to an end and lets others go first`, async () => {
    for (const [which, work] of WORK) {
      // What is made at first use is made once for each table.
      await holdBounds(BOUNDS, async () => {
        const acl = aclOf(policy, 9);
        const done = async (): Promise<void> => {
          await work(acl, new RuleWalk()).catch((error: unknown) => {
            assert.ok(error instanceof Failure, which);
          });
        };
        let whole = 0;
        const turn = await longestTurn(async () => {
          whole = await cpuUntil(done);
        });
        return { turn, whole };
      });
    }
  });
}

const spent = (): RuleWalk => {
  const walk = new RuleWalk();
  walk.effort.left = -1;
  return walk;
};
const two = (own: string, bound: string): Acl =>
  boundAcl(compiledAcl([parsePolicy(own)], 0), compiledAcl([parsePolicy(bound)], 0));

test('a list of grants that would take too long is refused, and not answered without its denials', async () => {
  const acl = two(`${read('a/*')} ${deny('a/b')}`, read('*'));
  await assert.rejects(
    listGrants(acl, spent()),
    (error: unknown) =>
      error instanceof Failure && error.kind === 'invalid' && /takes too long/.test(error.message),
  );
  const { exact, wild } = await listGrants(acl, new RuleWalk());
  assert.deepEqual([...exact], [['a/b', ['deny']]]);
  assert.deepEqual([...wild], [['a/*', ['read']]]);
});

test('what could not be judged any more counts as nothing, and is judged by the next who asks', async () => {
  const acl = two(read('a/*'), read('*'));
  assert.equal(await hasAccessBeneath(acl, 'a/', spent()), false);
  assert.equal(await hasAccessBeneath(acl, 'a/', new RuleWalk()), true);
  // What is known needs no judging.
  assert.equal(await hasAccessBeneath(acl, 'a/', spent()), true);
  assert.deepEqual(await listCapabilities(acl, 'a/b', spent()), ['deny']);
  assert.deepEqual(await listCapabilities(acl, 'a/b', new RuleWalk()), ['read']);
});

test('nothing more is judged for somebody who has gone', async () => {
  const acl = aclOf(policyOf(denials), 9);
  const gone = new RuleWalk(() => {
    throw new Failure('unavailable', 'the client has gone');
  });
  const before = gone.effort.left;
  await assert.rejects(listGrants(acl, gone), /the client has gone/);
  assert.ok(gone.effort.left > before / 2, `${gone.effort.left} of ${before}`);
});

test('ten thousand names of five made one from the other are listed, and whoever asks in turns is told the same', async () => {
  const acl = aclOf(
    policyOf((n) => read(`a/${n}`)),
    5,
  );
  const { exact } = await listGrants(acl, new RuleWalk());
  assert.equal(exact.size, TOKEN_LIMITS.stanzas);
  for (const path of ['a/7', 'a/x', '/a/7', 'a/7/']) {
    assert.deepEqual(
      await listCapabilities(acl, path, new RuleWalk()),
      await capabilitiesAt(acl, path),
    );
  }
});

const BENEATH: [rules: string, prefix: string, shown: boolean][] = [
  [read('pki/issue/a'), 'pki/', true],
  [read('pki'), 'pki/', true],
  [read('pki2/a'), 'pki/', false],
  [read('pki-a/b'), 'pki/', false],
  [read('pki/a'), 'pki/a/b/', false],
  [read('pki*'), 'pki/', true],
  [read('pk*'), 'pki/', true],
  [read('pki2*'), 'pki/', false],
  [read('pki/*'), 'pki/', true],
  [read('pki/issue/*'), 'pki/', true],
  [read('pki/issue/*'), 'pki/roles/', false],
  [read('pki/issue/+/x'), 'pki/', true],
  [read('pki/+/x'), 'pki/a/', true],
  [read('pki/+/x'), 'pki/a/b/', false],
  [read('+/x'), 'pki/', true],
  [read('+/x'), 'auth/pki/', false],
  [read('+/pki/x'), 'auth/pki/', true],
  [read('pkj/*'), 'pki/', false],
];
for (const [rules, prefix, shown] of BENEATH) {
  test(`${prefix} is ${shown ? 'shown' : 'hidden'} under ${rules}, among others in any order`, async () => {
    const others = ['a/b', 'z/*', 'pj/+', 'pkz/+/x', 'auth/a', 'auth/z/*'].map(read).join(' ');
    const acl = compiledAcl([parsePolicy(`${others} ${rules}`)], 0);
    assert.equal(await hasAccessBeneath(acl, prefix, new RuleWalk()), shown);
  });
}
