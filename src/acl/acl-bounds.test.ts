// What takes something away although nobody knows where, and what bounds a token that was made from
// another.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import {
  capabilitiesAt,
  compiledAcl,
  judgedAccess,
  mayBeAllowed,
} from '../../test/support/judged.ts';
import type { IdentityFacts } from '../core/identity-template.ts';
import type { Operation } from './access-request.ts';
import { type Acl, boundAcl, isDenied } from './acl.ts';
import { MOST_COMPARISONS } from './comparisons.ts';
import { listGrants } from './grants.ts';
import { hasAccessBeneath } from './grants-beneath.ts';
import { expandPolicy, ROOT_POLICY } from './policy.ts';
import { TOKEN_LIMITS } from './policy-limits.ts';
import { parsePolicy } from './policy-reader.ts';
import { RuleWalk } from './rule-walk.ts';

const person = (metadata: Record<string, string>): IdentityFacts => ({
  entity: { id: 'e', name: 'ann', metadata, aliases: {} },
  groups: [],
});

const aclOf = (text: string, identity?: IdentityFacts): Acl =>
  compiledAcl([expandPolicy(parsePolicy(text), identity)], 0);

const may = (acl: Acl, operation: Operation, path: string, more: object = {}): boolean =>
  judgedAccess(acl, { path, operation, sudoRequired: false, ...more }).allowed;

const K = '{{identity.entity.metadata.k}}';
const grant = (path: string) => `path "${path}" { capabilities = ["update", "list"] }`;
const deny = (path: string) => `path "${path}" { capabilities = ["deny"] }`;
const DEMO = grant('demo/*');

type Row = [stanzas: string, operation: Operation, path: string, allowed: boolean, why: string];

const open: Row[] = [
  [`${DEMO} ${deny(`demo/${K}`)}`, 'update', 'demo/a', false, 'any segment is denied'],
  [`${DEMO} ${deny(`demo/${K}`)}`, 'update', 'demo/a/b', true, 'two segments are not one'],
  [`${DEMO} ${deny(`demo/${K}`)}`, 'list', 'demo/a', false, 'and so is its list'],
  [`${DEMO} ${deny(`demo/${K}`)}`, 'list', 'demo/a/b', true, 'but no other'],
  [`${DEMO} ${deny(`demo/${K}/*`)}`, 'update', 'demo/a/b/c', false, 'all beneath any segment'],
  [`${DEMO} ${deny(`demo/${K}/*`)}`, 'update', 'demo/a', true, 'not the segment itself'],
  [`${DEMO} ${deny(`demo/${K}*`)}`, 'update', 'demo/a/b', false, 'whatever begins so'],
  [`${DEMO} ${deny(`demo/x-${K}`)}`, 'update', 'demo/x-a', false, 'a part of a segment'],
  [`${DEMO} ${deny(`demo/x-${K}`)}`, 'update', 'demo/x-', true, 'no value is empty'],
  [`${DEMO} ${deny(`demo/x-${K}`)}`, 'update', 'demo/y-a', true, 'no value makes it that'],
  [`${DEMO} ${deny(`demo/${K}-x-${K}.y`)}`, 'update', 'demo/a-x-b.y', false, 'two in one segment'],
  [`${DEMO} ${deny(`demo/${K}-x-${K}.y`)}`, 'update', 'demo/a-x-.y', true, 'each has a value'],
  [`${DEMO} ${deny(`demo/${K}`)}`, 'update', 'other/a', false, 'and nothing is granted'],
  // It has the rank that it would have if it were written for the path.
  [`${grant('demo/prod')} ${deny(`demo/${K}`)}`, 'update', 'demo/prod', false, 'as exact as that'],
  [`${grant('demo/+')} ${deny(`demo/${K}`)}`, 'update', 'demo/prod', false, 'more exact'],
  [`${grant('a/b/*')} ${deny(`a/${K}/*`)}`, 'update', 'a/b/c', false, 'of the same rank'],
  [`${grant('a/b/c')} ${deny(`a/${K}/*`)}`, 'update', 'a/b/c', true, 'an exact grant is above it'],
  [`${grant('a/+/c')} ${deny(`a/${K}/*`)}`, 'update', 'a/b/c', false, 'its wildcard is further on'],
  [`${grant('a/b/c*')} ${deny(`a/${K}/*`)}`, 'update', 'a/b/cd', true, 'a longer prefix is above'],
  // Other ways of taking away.
  [`${DEMO} path "demo/${K}" { capabilities = [] }`, 'update', 'demo/a', false, 'nothing'],
  [`${DEMO} path "demo/${K}" { capabilities = [] }`, 'update', 'demo/a/b', true, 'only there'],
  [
    `path "demo/${K}" { policy = "write" required_parameters = ["p"] }`,
    'update',
    'demo/a',
    false,
    'a condition grants nothing',
  ],
  [
    `${DEMO} path "demo/${K}" { policy = "write" required_parameters = ["p"] }`,
    'update',
    'demo/a',
    false,
    'it is to be met',
  ],
  [
    `${DEMO} path "demo/${K}" { policy = "write" min_wrapping_ttl = "1s" }`,
    'update',
    'demo/a',
    false,
    'bounds of wrapping',
  ],
  [
    `${DEMO} path "demo/${K}" { policy = "read" pagination_limit = 5 }`,
    'list',
    'demo/a',
    false,
    'bounds of pages',
  ],
  [
    `${DEMO} path "demo/${K}" { policy = "write" mfa_methods = ["m"] }`,
    'update',
    'demo/a',
    false,
    'what nobody checks',
  ],
  // What only grants matches nothing.
  [grant(`demo/${K}`), 'update', 'demo/a', false, 'a grant to nobody'],
  [`${DEMO} path "demo/${K}" { policy = "read" }`, 'update', 'demo/a', true, 'no less for another'],
];

for (const [stanzas, operation, path, allowed, why] of open) {
  test(`unfilled, ${stanzas}: ${operation} ${path} is ${allowed ? 'allowed' : 'refused'}: ${why}`, async () => {
    const nobody: [string, IdentityFacts | undefined][] = [
      ['no entity', undefined],
      ['absent', person({})],
      ['empty', person({ k: '' })],
      ['a slash', person({ k: 'a/b' })],
      ['a control character', person({ k: 'a\u0001' })],
    ];
    for (const [what, identity] of nobody) {
      const acl = aclOf(stanzas, identity);
      assert.equal(may(acl, operation, path), allowed, what);
      if (!allowed) continue;
      assert.ok((await capabilitiesAt(acl, path)).includes(operation), what);
    }
  });
}

test('a slot that is filled denies what it is filled with and nothing else', () => {
  const acl = aclOf(`${DEMO} ${deny(`demo/${K}`)}`, person({ k: 'prod' }));
  assert.equal(may(acl, 'update', 'demo/prod'), false);
  assert.equal(may(acl, 'update', 'demo/test'), true);
});

test('of two slots the one that is filled counts', () => {
  const text = `${DEMO} ${deny(`demo/${K}/{{identity.entity.metadata.none}}`)}`;
  const acl = aclOf(text, person({ k: 'prod' }));
  assert.equal(may(acl, 'update', 'demo/prod/x'), false);
  assert.equal(may(acl, 'update', 'demo/test/x'), true);
});

test('an unfilled condition lets by who meets it', () => {
  const acl = aclOf(
    `${DEMO} path "demo/${K}" { policy = "write" denied_parameters = { "p" = ["1"] } }`,
  );
  assert.equal(may(acl, 'update', 'demo/a', { parameters: { p: '2' } }), true);
  assert.equal(may(acl, 'update', 'demo/a', { parameters: { p: '1' } }), false);
});

test('an unfilled denial holds for names however they are spelt', () => {
  const acl = aclOf(`${grant('auth/up/users/*')} ${deny(`auth/up/users/BOSS-${K}`)}`);
  const formed = [{ at: 3, form: 'lower_case' } as const];
  for (const name of ['boss-a', 'Boss-A']) {
    assert.equal(may(acl, 'update', `auth/up/users/${name}`, { formed }), false);
  }
  assert.equal(may(acl, 'update', 'auth/up/users/bob-a', { formed }), true);
});

test('what nobody knows the place of is answered by everything that tells what is allowed', async () => {
  const acl = aclOf(`${DEMO} ${deny(`demo/${K}`)}`);
  assert.deepEqual(await capabilitiesAt(acl, 'demo/a'), ['deny']);
  assert.equal(
    mayBeAllowed(acl, { path: 'demo/a', operation: 'update', sudoRequired: false }),
    false,
  );
  assert.deepEqual((await listGrants(acl, new RuleWalk())).wild.get('demo/+'), ['deny']);
  assert.equal(
    await hasAccessBeneath(
      aclOf(`${grant('demo/+')} ${deny(`demo/${K}`)}`),
      'demo/',
      new RuleWalk(),
    ),
    false,
  );
  assert.equal(await hasAccessBeneath(acl, 'demo/', new RuleWalk()), true);
});

// Bounded by another's permissions.

const WHOLE = `${DEMO} ${grant('more/*')} ${deny('demo/issue/prod')} ${deny('shut/*')}
  path "demo/sign" { capabilities = ["update"] denied_parameters = { "cn" = ["admin"] } }
  path "demo/wrap" { capabilities = ["update"] max_wrapping_ttl = "60s" }
  path "demo/certs" { capabilities = ["list"] pagination_limit = 10 }
  path "demo/root" { capabilities = ["update"] }
  path "demo/some/*" { capabilities = ["list"] }`;
const OWN = `${DEMO} ${grant('shut/*')} path "demo/root" { capabilities = ["update", "sudo"] }`;
const bounded = boundAcl(aclOf(OWN), aclOf(WHOLE));

const bounds: [operation: Operation, path: string, more: object, allowed: boolean, why: string][] =
  [
    ['update', 'demo/issue/web', {}, true, 'both allow it'],
    ['update', 'demo/issue/prod', {}, false, 'the bound denies it'],
    ['update', 'more/a', {}, false, 'its own do not grant it'],
    ['update', 'shut/a', {}, false, 'the bound denies everything there'],
    ['list', 'shut/a', {}, false, 'lists, too'],
    ['update', 'demo/sign', { parameters: { cn: 'web' } }, true, 'a condition that is met'],
    ['update', 'demo/sign', { parameters: { cn: 'admin' } }, false, 'a condition that is not'],
    ['update', 'demo/wrap', { wrapTtl: 60 }, true, 'wrapped as the bound has it'],
    ['update', 'demo/wrap', {}, false, 'not wrapped'],
    ['list', 'demo/certs', { parameters: { limit: 10 } }, true, 'a page as the bound has it'],
    ['list', 'demo/certs', { parameters: { limit: 11 } }, false, 'a longer page'],
    ['update', 'demo/root', { sudoRequired: true }, false, 'no sudo by the bound'],
    ['update', 'demo/root', {}, true, 'without sudo'],
    ['update', 'demo/some/a', {}, false, 'only lists there'],
    ['list', 'demo/some/a', {}, true, 'those'],
  ];

for (const [operation, path, more, allowed, why] of bounds) {
  test(`bounded, ${operation} ${path} ${JSON.stringify(more)} is ${allowed ? 'allowed' : 'refused'}: ${why}`, () => {
    assert.equal(may(bounded, operation, path, more), allowed);
  });
}

test('what is told of bounded permissions is what both allow', async () => {
  const told: [path: string, capabilities: string[]][] = [
    ['demo/issue/web', ['list', 'update']],
    ['demo/issue/prod', ['deny']],
    ['more/a', ['deny']],
    ['demo/root', ['update']],
    ['demo/some/a', ['list']],
  ];
  for (const [path, capabilities] of told) {
    assert.deepEqual(await capabilitiesAt(bounded, path), capabilities);
  }
  const { exact, wild } = await listGrants(bounded, new RuleWalk());
  assert.deepEqual(exact.get('demo/issue/prod'), ['deny']);
  assert.deepEqual(exact.get('demo/root'), ['update']);
  assert.deepEqual(wild.get('demo/*'), ['list', 'update']);
  assert.deepEqual(wild.get('demo/some/*'), ['list']);
  assert.deepEqual(wild.get('shut/*'), ['deny']);
  assert.equal(wild.has('more/*'), false);
  assert.equal(await hasAccessBeneath(bounded, 'demo/', new RuleWalk()), true);
  assert.equal(await hasAccessBeneath(bounded, 'more/', new RuleWalk()), false);
  assert.equal(await hasAccessBeneath(bounded, 'shut/', new RuleWalk()), false);
});

test('the root policy bounds nothing, and is bounded', () => {
  const [own, root] = [aclOf(OWN), compiledAcl([ROOT_POLICY], 0)];
  assert.equal(boundAcl(own, root), own);
  assert.equal(boundAcl(root, own), own);
  assert.equal(boundAcl(root, root).root, true);
});

test('permissions that are bounded last as long as the shorter of them', () => {
  const text = 'path "a" { policy = "read" expiration = "2030-01-01T00:00:00Z" }';
  const short = aclOf(text);
  assert.ok(Number.isFinite(short.valid_until));
  assert.equal(boundAcl(aclOf(OWN), short).valid_until, short.valid_until);
  assert.equal(boundAcl(short, aclOf(OWN)).valid_until, short.valid_until);
});

test('as many unfilled denials as may be are asked a thousand times at once', async () => {
  const stanzas = Array.from({ length: TOKEN_LIMITS.stanzas }, (_, n) => deny(`+/x${n}/${K}`));
  const acl = aclOf(`${stanzas.join('\n')} ${grant('*')}`);
  assert.equal(may(acl, 'update', 'q/x77/b'), false);
  // Some 5 to 20 ms; one by one it takes 1,500 ms.
  await spendsAtMost(300, () => {
    for (let at = 0; at < 1000; at++) may(acl, at % 2 ? 'list' : 'update', `q/z${at}/b`);
  });
});

const DENIALS: [own: string, maker: string, path: string, denied: boolean, why: string][] = [
  ['', deny('demo/a'), 'demo/a', true, "the maker's denial, where the own policies say nothing"],
  [grant('demo'), `${grant('*')} ${deny('demo/a')}`, 'demo/a', true, 'and grant something else'],
  [grant('demo/a'), `${grant('*')} ${deny('demo/a')}`, 'demo/a', true, 'or grant just that'],
  [deny('demo/a'), grant('*'), 'demo/a', true, 'an own denial'],
  [deny('demo/a'), '', 'demo/a', true, 'an own denial, where the maker has nothing'],
  ['', `${grant('demo')} ${deny(`demo/${K}`)}`, 'demo/a', true, 'of any name'],
  ['', deny('demo/b'), 'demo/a', false, 'a denial of something else'],
  ['', '', 'demo/a', false, 'that nothing grants it is no denial'],
];
for (const [own, maker, path, denied, why] of DENIALS) {
  test(`${path} is ${denied ? '' : 'not '}denied to ${own || 'nothing'}, bounded by ${maker || 'nothing'}: ${why}`, async () => {
    const acl = boundAcl(aclOf(own), aclOf(maker));
    assert.equal(await isDenied(acl, { path }, { left: MOST_COMPARISONS }), denied);
  });
}
