import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { PLAIN_REQUEST } from '../../../test/support/token-request.ts';
import type { TokenFacts } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { namedBy } from './child-policies.ts';
import { planToken } from './creation.ts';
import type { CreationFacts, TokenRequest } from './creation-request.ts';
import { type TokenRole, tokenRoleSchema } from './role.ts';
import { displayName } from './token.ts';

const NOW = 1_800_000_000;

const PARENT: TokenFacts = {
  id: 'parent',
  accessor: 'a',
  policies: ['default', 'reader', 'writer'],
  identity_policies: [],
  display_name: 'token',
  entity_id: 'entity-1',
  type: 'service',
  orphan: true,
  path: 'auth/token/create',
  meta: null,
  mount_id: '',
  restricted: false,
  alias: undefined,
  bounds: undefined,
  bound_cidrs: [],
  num_uses: 0,
  expires_at: NOW + 3600,
};
const ROOT: TokenFacts = { ...PARENT, policies: ['root'], expires_at: undefined };

interface Case {
  request?: Partial<TokenRequest>;
  parent?: TokenFacts;
  sudo?: boolean;
  role?: Partial<TokenRole>;
}

function plan(given: Case) {
  const facts: CreationFacts = {
    request: { ...PLAIN_REQUEST, ...given.request },
    parent: given.parent ?? PARENT,
    entity_policies: ['team'],
    sudo: given.sudo ?? false,
    orphan: false,
    role: given.role && { name: 'r', rules: { ...tokenRoleSchema.parse({}), ...given.role } },
    default_ttl: 7200,
    max_ttl: 36_000,
    now: NOW,
  };
  return planToken(facts).token;
}

const byRoot = { parent: ROOT, sudo: true };

const policies: [why: string, given: Case, policies: string[]][] = [
  [
    'without anything asked for a child has what its parent has',
    {},
    ['default', 'reader', 'writer'],
  ],
  ['a child may have less', { request: { policies: ['reader'] } }, ['default', 'reader']],
  [
    '"default" can be done without',
    { request: { policies: ['reader'], no_default_policy: true } },
    ['reader'],
  ],
  [
    'a parent without "default" passes none on',
    { parent: { ...PARENT, policies: ['reader'] }, request: { policies: ['reader'] } },
    ['reader'],
  ],
  [
    'sudo may grant more than it has',
    { sudo: true, request: { policies: ['other'] } },
    ['default', 'other'],
  ],
  ['a child of root is root, and nothing beside', byRoot, ['root']],
  [
    'root beside others is root alone',
    { ...byRoot, request: { policies: ['a', 'root'] } },
    ['root'],
  ],
  [
    'names are trimmed, lowered, sorted and told once',
    { ...byRoot, request: { policies: [' B', 'a', 'b'] } },
    ['a', 'b', 'default'],
  ],
  [
    'a role grants what it allows, whatever its user has',
    { role: { allowed_policies: ['other'] } },
    ['default', 'other'],
  ],
  [
    'a role with a glob grants what matches',
    { role: { allowed_policies_glob: ['ci-*'] }, request: { policies: ['ci-build'] } },
    ['ci-build', 'default'],
  ],
  [
    'a role can leave "default" out',
    { role: { allowed_policies: ['other'], token_no_default_policy: true } },
    ['other'],
  ],
  [
    'a role whose allowed names are blanks allows none',
    { role: { allowed_policies: ['', ' '] } },
    ['default'],
  ],
  [
    'a role that has a name beside a blank allows the name',
    { role: { allowed_policies: ['', 'other'] }, request: { policies: ['other'] } },
    ['default', 'other'],
  ],
  [
    'blanks that a role disallows leave a child with less than its parent',
    { role: { disallowed_policies: [' '] }, request: { policies: ['reader'] } },
    ['default', 'reader'],
  ],
  [
    'a role that disallows "default" does not add it',
    { role: { allowed_policies: ['other'], disallowed_policies: ['default'] } },
    ['other'],
  ],
];

for (const [why, given, expected] of policies) {
  test(why, () => assert.deepEqual(plan(given).policies, expected));
}

const refusals: [why: string, given: Case, message: RegExp][] = [
  [
    'a child may not have more',
    { request: { policies: ['reader', 'other'] } },
    /child policies must be subset of parent/,
  ],
  [
    'sudo is not enough for root',
    { sudo: true, request: { policies: ['root'] } },
    /root tokens may not be created without parent token being root/,
  ],
  [
    'a role is not enough for root',
    { role: { allowed_policies: ['root'] } },
    /root tokens may not be created/,
  ],
  [
    'root in capitals is root',
    { sudo: true, request: { policies: ['ROOT'] } },
    /root tokens may not be created/,
  ],
  [
    'the policy of wrappings is not handed out',
    { ...byRoot, request: { policies: ['response-wrapping'] } },
    /cannot assign policy/,
  ],
  [
    'a root token that ends makes none that does not',
    { parent: { ...ROOT, expires_at: NOW + 1 }, sudo: true },
    /expiring root tokens/,
  ],
  [
    'an id of its own needs sudo',
    { request: { id: 'mine' } },
    /privileges required to specify token id/,
  ],
  [
    'an id may not look like a token of ours',
    { ...byRoot, request: { id: 'hvs.mine' } },
    /no prefix/,
  ],
  [
    'an orphan needs sudo',
    { request: { no_parent: true } },
    /privileges required to create orphan/,
  ],
  ['a period needs sudo', { request: { period: 60 } }, /privileges required to create periodic/],
  [
    'a token with counted uses has no children',
    { parent: { ...PARENT, num_uses: 1 } },
    /restricted use token cannot generate child tokens/,
  ],
  [
    'a batch token has no children',
    { parent: { ...PARENT, type: 'batch' } },
    /batch tokens cannot create/,
  ],
  [
    'a batch token is not root',
    { ...byRoot, request: { type: 'batch' } },
    /batch tokens cannot be root/,
  ],
  [
    'a batch token has no explicit maximum',
    { request: { type: 'batch', explicit_max_ttl: 60 } },
    /batch tokens cannot have/,
  ],
  [
    'a batch token has no counted uses',
    { request: { type: 'batch', num_uses: 1 } },
    /batch tokens cannot have/,
  ],
  [
    'a batch token has no uses counted by its role',
    { request: { type: 'batch' }, role: { token_num_uses: 1 } },
    /batch tokens cannot have/,
  ],
  [
    'a batch token has no period',
    { ...byRoot, request: { policies: ['a'], type: 'batch', period: 60 } },
    /batch tokens cannot have/,
  ],
  ['there are no other types', { request: { type: 'recovery' } }, /"service" or "batch"/],
  ['uses are not counted below nothing', { request: { num_uses: -1 } }, /cannot be negative/],
  [
    'a role grants nothing beyond its list',
    { role: { allowed_policies: ['other'] }, request: { policies: ['reader'] } },
    /subset of the role's allowed policies/,
  ],
  [
    'a role grants nothing that only begins like its glob',
    { role: { allowed_policies_glob: ['ci-*-x'] }, request: { policies: ['ci-build'] } },
    /subset of the role's allowed policies/,
  ],
  [
    'a role whose allowed names are blanks grants no policy',
    { role: { allowed_policies: [''] }, request: { policies: ['reader'] } },
    /subset of the role's allowed policies/,
  ],
  [
    'a role whose allowed names and patterns are blanks grants no policy',
    {
      role: { allowed_policies: [' '], allowed_policies_glob: [''] },
      request: { policies: ['other'] },
    },
    /subset of the role's allowed policies/,
  ],
  [
    'a role whose allowed patterns are blanks grants no policy',
    { role: { allowed_policies_glob: [' '] }, request: { policies: ['reader'] } },
    /subset of the role's allowed policies/,
  ],
  [
    'blanks that a role disallows do not free a child of the bounds of its parent',
    { role: { disallowed_policies: [' '] }, request: { policies: ['other'] } },
    /child policies must be subset of parent/,
  ],
  [
    'blank patterns that a role disallows do not free a child of the bounds of its parent',
    { role: { disallowed_policies_glob: ['', ' '] }, request: { policies: ['other'] } },
    /child policies must be subset of parent/,
  ],
  [
    'what a role disallows wins over what it allows',
    { role: { allowed_policies: ['other'], disallowed_policies_glob: ['oth*'] } },
    /is disallowed by this role/,
  ],
];

for (const [why, given, message] of refusals) {
  test(why, () => {
    assert.throws(
      () => plan(given),
      (error: unknown) => error instanceof Failure && message.test(error.message),
    );
  });
}

/** Names of policies, sorted, so many characters in all. */
const namesOf = (characters: number, letter = 'x'): string[] =>
  Array.from({ length: characters / 1024 }, (_, at) =>
    `${letter}${at + 100}-`.padEnd(1024, letter),
  );

const [HALF, WHOLE] = [32_768, 65_536];
const withNames = (policies: string[], more: Partial<TokenFacts> = {}): TokenFacts => ({
  ...PARENT,
  policies,
  ...more,
});
const bounded = (own: string[], above: string[], given: string[] = []): TokenFacts =>
  withNames(own, {
    bounds: {
      ceilings: [{ policies: above, entity_id: 'entity-1' }],
      entity_policies: given,
    },
  });
const aboutLess = { policies: ['x100-'.padEnd(1024, 'x')] };

/** What a token carries with it is all that it is judged by: copies of it are made by a small request. */
const copies: [why: string, given: Case, made: boolean][] = [
  ['as many names as a token may have are handed on', { parent: withNames(namesOf(WHOLE)) }, true],
  ['one more is not', { parent: withNames([...namesOf(WHOLE), 'z']) }, false],
  [
    'what a maker has bounds a child with less, and counts with it',
    { parent: withNames(namesOf(WHOLE - 1024)), request: aboutLess },
    true,
  ],
  [
    'a child with less of a maker with as much as may be is too much',
    { parent: withNames(namesOf(WHOLE)), request: aboutLess },
    false,
  ],
  [
    'ceilings above a child are handed on',
    { parent: bounded(namesOf(HALF), namesOf(HALF, 'y')) },
    true,
  ],
  [
    'ceilings and own policies are counted together',
    { parent: bounded(namesOf(HALF + 1024), namesOf(HALF, 'y')) },
    false,
  ],
  [
    'what an orphan has of an entity counts, too',
    {
      parent: { ...bounded(namesOf(HALF), namesOf(HALF, 'y'), ['of-entity']), entity_id: '' },
      role: { orphan: true },
    },
    false,
  ],
  [
    'what a role names counts',
    { ...byRoot, role: { allowed_policies: [...namesOf(WHOLE), 'z'] } },
    false,
  ],
  [
    'a role may name as much',
    { ...byRoot, role: { allowed_policies: namesOf(WHOLE), token_no_default_policy: true } },
    true,
  ],
];

for (const [why, given, made] of copies) {
  test(`${why}: ${made ? 'made' : 'refused, and the field is named'}`, () => {
    if (made) assert.ok(plan(given).policies.length > 0);
    else assert.throws(() => plan(given), { kind: 'invalid', message: /^policies: .* 65536 / });
  });
}

test('a child of root does not end and cannot be renewed', () => {
  const token = plan(byRoot);
  assert.equal(token.expires_at, undefined);
  assert.equal(token.renewable, false);
});

test('a child of root with a TTL ends, and can be renewed', () => {
  const token = plan({ ...byRoot, request: { ttl: 60 } });
  assert.equal(token.expires_at, NOW + 60);
  assert.equal(token.renewable, true);
});

const restrictions: [why: string, given: Case, restricted: boolean][] = [
  ['a child without anything asked for', {}, false],
  ['a short-lived child without anything asked for', { request: { ttl: 60, num_uses: 1 } }, false],
  ['a child of a role without lists', { role: { renewable: false } }, false],
  ['a child that names one of the policies', { request: { policies: ['reader'] } }, true],
  [
    'a child that names all of them',
    { request: { policies: ['default', 'reader', 'writer'] } },
    true,
  ],
  ['a child with nothing but a blank name', { request: { policies: [''] } }, true],
  ['a child without "default"', { request: { no_default_policy: true } }, true],
  ['a child of a role without "default"', { role: { token_no_default_policy: true } }, true],
  [
    'a child of a role with allowed policies',
    { role: { allowed_policies: ['default', 'reader', 'writer'] } },
    true,
  ],
  ['a child of a role with disallowed policies', { role: { disallowed_policies: ['x'] } }, true],
  ['a child of a role whose allowed names are blanks', { role: { allowed_policies: [''] } }, true],
  ['a child of a role that disallows blanks', { role: { disallowed_policies: [' '] } }, false],
  ['a child of a restricted token', { parent: { ...PARENT, restricted: true } }, true],
  ['a batch token that names a policy', { request: { policies: ['reader'], type: 'batch' } }, true],
];

for (const [why, given, restricted] of restrictions) {
  test(`${why} ${restricted ? 'has its own policies alone' : 'is as whole as its parent'}`, () => {
    assert.equal(plan(given).restricted, restricted);
  });
}

test('a list of blank names does not stand for all that the parent has', () => {
  assert.deepEqual(plan({ request: { policies: [' '] } }).policies, ['default']);
});

test('a child stays where its parent may be used from, unless a role says from where or sudo makes an orphan', () => {
  const parent = { ...PARENT, bound_cidrs: ['192.0.2.0/24'] };
  const boundsOf = (given: Case) => plan({ parent, ...given }).bound_cidrs;
  assert.deepEqual(boundsOf({}), ['192.0.2.0/24']);
  assert.deepEqual(boundsOf({ role: {} }), ['192.0.2.0/24']);
  assert.deepEqual(boundsOf({ role: { token_bound_cidrs: ['198.51.100.7'] } }), ['198.51.100.7']);
  assert.deepEqual(boundsOf({ role: { orphan: true } }), ['192.0.2.0/24']);
  assert.deepEqual(boundsOf({ role: { orphan: true }, sudo: true }), []);
  assert.deepEqual(boundsOf({ request: { no_parent: true }, sudo: true }), []);
});

test('a token has its parent, and an orphan neither parent nor entity', () => {
  assert.equal(plan({}).parent_id, 'parent');
  assert.equal(plan({}).entity_id, 'entity-1');
  const orphan = plan({ role: { orphan: true } });
  assert.equal(orphan.parent_id, undefined);
  assert.equal(orphan.entity_id, '');
});

test('the tighter explicit maximum of role and request holds', () => {
  const role = { token_explicit_max_ttl: 600 };
  assert.equal(plan({ role, request: { explicit_max_ttl: 300 } }).explicit_max_ttl, 300);
  assert.equal(plan({ role, request: { explicit_max_ttl: 900 } }).explicit_max_ttl, 600);
});

test('a role decides the type and the path of its tokens', () => {
  const token = plan({
    role: { token_type: 'batch', path_suffix: 'ci' },
    request: { type: 'service' },
  });
  assert.equal(token.type, 'batch');
  assert.equal(token.path, 'auth/token/create/r/ci');
});

test('a display name is a plain word after "token-"', () => {
  assert.equal(displayName('a b'), 'token-a-b');
  assert.equal(displayName('ci/'), 'token-ci');
  assert.equal(displayName(''), 'token');
  assert.equal(displayName('-'), 'token');
  assert.equal(displayName('a--b'), 'token-a--b');
  assert.equal(displayName('a  b--'), 'token-a--b-');
});

const globs: [pattern: string, name: string, matches: boolean][] = [
  ['ci', 'ci', true],
  ['ci', 'ci-1', false],
  ['ci-*', 'ci-', true],
  ['*-ci', 'a-ci', true],
  ['*-ci', 'a-cii', false],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'a-c', false],
  ['aba*aba', 'aba', false],
  ['*', '', true],
];

for (const [pattern, name, matches] of globs) {
  test(`"${name}" ${matches ? 'is' : 'is not'} within "${pattern}"`, () => {
    assert.equal(namedBy([pattern], !matches)(name), matches);
  });
}

test('a thousand names are held against a thousand patterns in a short time, also in vain', async () => {
  const names = Array.from({ length: 1000 }, (_, at) => `team-${at}-${'x'.repeat(40)}`);
  const patterns = Array.from({ length: 1000 }, (_, at) => `team*${at}*y${'x'.repeat(900)}`);
  // Some 30 ms; letter by letter it would be seconds.
  await spendsAtMost(150, () => {
    const fits = namedBy(patterns, false);
    assert.equal(
      names.some((name) => fits(name)),
      false,
    );
  });
});

test('patterns that take too long to compare allow nothing, and disallow everything', () => {
  const patterns = Array.from({ length: 1000 }, () => '*abab*cdcd*');
  const names = Array.from({ length: 1000 }, (_, at) => `cdcd-${at}-abab`);
  for (const otherwise of [true, false]) {
    const fits = namedBy(patterns, otherwise);
    assert.equal(names.map(fits).at(-1), otherwise);
  }
});
