import assert from 'node:assert/strict';
import test from 'node:test';
import {
  capabilitiesAt,
  compiledAcl,
  judgedAccess,
  mayBeAllowed,
} from '../../test/support/judged.ts';
import type { IdentityFacts } from '../core/identity-template.ts';
import type { AccessRequest, Operation } from './access-request.ts';
import { hasAccessBeneath } from './grants-beneath.ts';
import type { ParameterReader } from './parameter-forms.ts';
import { expandPolicy, ROOT_POLICY } from './policy.ts';
import { parsePolicy } from './policy-reader.ts';
import { RuleWalk } from './rule-walk.ts';

const NOW = 1_800_000_000;

/** `{ 'pki/*': 'read list' }` as a policy's text. */
function policyText(rules: Record<string, string>): string {
  return Object.entries(rules)
    .map(([path, words]) => {
      const list = words.split(' ').filter(Boolean);
      return `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(list)} }`;
    })
    .join('\n');
}

function aclOf(...texts: (string | Record<string, string>)[]) {
  const policies = texts.map((text) =>
    parsePolicy(typeof text === 'string' ? text : policyText(text)),
  );
  return compiledAcl(policies, NOW);
}

const OPERATIONS: Record<string, Operation> = {
  GET: 'read',
  LIST: 'list',
  POST: 'update',
  CREATE: 'create',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** `judge(acl, 'POST pki/issue/web')`. */
function judge(
  acl: ReturnType<typeof aclOf>,
  request: string,
  more: Partial<AccessRequest> = {},
): boolean {
  const [verb = '', path = ''] = request.split(' ');
  const operation = OPERATIONS[verb];
  assert.ok(operation);
  return judgedAccess(acl, { path, operation, sudoRequired: false, ...more }).allowed;
}

const paths: [rules: Record<string, string>, request: string, allowed: boolean, rule: string][] = [
  [{ 'pki/*': 'read', 'pki/issue/web': 'deny' }, 'POST pki/issue/web', false, 'an exact deny'],
  [
    { 'pki/+/web': 'update', 'pki/issue/*': 'deny' },
    'POST pki/issue/web',
    false,
    'the later wildcard decides',
  ],
  [
    { 'pki/issue/+': 'update', 'pki/issue/*': 'deny' },
    'POST pki/issue/web',
    true,
    'without a trailing * beats with one',
  ],
  [
    { 'pki/issue/w*': 'update', 'pki/issue/*': 'deny' },
    'POST pki/issue/web',
    true,
    'the longer prefix decides',
  ],
  [
    { 'pki/certs': 'list' },
    'LIST pki/certs',
    true,
    'a list finds the exact path without its slash',
  ],
  [{ 'pki/certs/*': 'list' }, 'LIST pki/certs', true, 'a list has a slash for prefixes'],
  [{ 'pki/roles/x': 'read' }, 'GET pki/roles/x', true, 'an exact grant'],
  // Their nearest neighbours.
  [
    { 'pki/issue/w*': 'deny', 'pki/issue/*': 'update' },
    'POST pki/issue/web',
    false,
    'the same with the deny inside',
  ],
  [
    { 'pki/issue/w*': 'update', 'pki/issue/*': 'deny' },
    'POST pki/issue/api',
    false,
    'a name outside the longer prefix',
  ],
  [
    { 'pki/issue/+': 'deny', 'pki/issue/*': 'update' },
    'POST pki/issue/web',
    false,
    'one segment is denied',
  ],
  [
    { 'pki/issue/+': 'deny', 'pki/issue/*': 'update' },
    'POST pki/issue/web/x',
    true,
    'two segments are not one',
  ],
  [{ 'pki/certs': 'list' }, 'LIST pki/certs/', true, 'the slash may be there'],
  [{ 'pki/certs/': 'list' }, 'LIST pki/certs', true, 'the rule may have it'],
  [
    { 'pki/certs/': 'list', 'pki/certs': 'deny' },
    'LIST pki/certs',
    true,
    'the rule with the slash comes first',
  ],
  [{ 'pki/certs': 'list', 'pki/certs/': 'deny' }, 'LIST pki/certs', false, 'also where it denies'],
  [
    { 'pki/certs': 'list', 'pki/certs/*': 'deny' },
    'LIST pki/certs',
    true,
    'exact comes before prefix',
  ],
  [{ 'pki/certs': 'read' }, 'LIST pki/certs', false, 'read is not list'],
  [{ 'pki/certs/*': 'list' }, 'LIST pki/cert', false, 'a shorter path'],
  [{ 'pki/certs/*': 'list' }, 'LIST pki/certsx', false, 'a look-alike'],
  [{ 'pki/certs/*': 'read' }, 'GET pki/certs', false, 'only a list has a slash added'],
  [{ 'pki/+': 'list' }, 'LIST pki/certs', false, 'a wildcard rule for lists ends in a slash'],
  [{ 'pki/+/': 'list' }, 'LIST pki/certs', true, 'as here'],
  // What denies a path denies its list, unless a rule of higher rank is about the list.
  [{ 'demo/*': 'list', 'demo/+': 'deny' }, 'LIST demo/roles', false, 'any segment is denied'],
  [{ 'demo/*': 'list', 'demo/+': 'deny' }, 'LIST demo/roles/', false, 'also with its slash'],
  [{ 'demo/*': 'list', 'demo/r+': 'deny' }, 'LIST demo/roles', true, 'that is no wildcard'],
  [{ 'demo/*': 'list', 'demo/roles': 'deny' }, 'LIST demo/roles', false, 'just this path'],
  [{ 'demo/+/': 'list', 'demo/+': 'deny' }, 'LIST demo/roles', true, 'a rule for lists is longer'],
  [{ 'demo/roles/': 'list', 'demo/*': 'deny' }, 'LIST demo/roles', true, 'a broad deny'],
  [{ 'demo/roles/*': 'list', 'demo/+': 'deny' }, 'LIST demo/roles', true, 'a narrow list'],
  [{ 'demo/*': 'list', '+/roles': 'deny' }, 'LIST demo/roles', true, 'a deny of lower rank'],
  [{ 'demo/*': 'list', 'demo/+': 'read' }, 'LIST demo/roles', true, 'only a deny reaches so far'],
  [{ 'demo/+': 'deny' }, 'LIST demo/roles', false, 'nothing grants it'],
  [{ 'demo/*': 'list', 'demo/+': 'deny' }, 'LIST demo/roles/web', true, 'two segments'],
  // A last slash makes no other path of it for other operations.
  [
    { 'pki/issue/*': 'update', 'pki/issue/web': 'deny' },
    'POST pki/issue/web/',
    false,
    'a slash is no way round a deny',
  ],
  [{ 'pki/issue/web': 'update' }, 'POST pki/issue/web/', true, 'nor a way to lose a grant'],
  // Patterns.
  [{ 'pki/*': 'read' }, 'GET pki/', false, 'a read of the mount itself has no slash'],
  [{ 'pki*': 'read' }, 'GET pki', true, 'the rest may be empty'],
  [{ 'pki*': 'read' }, 'GET pki2/ca', true, 'and need not begin with a slash'],
  [{ 'pki*': 'read' }, 'GET PKI/ca', false, 'case is significant'],
  [{ '*': 'read' }, 'GET anything/at/all', true, 'everything'],
  [{ '/pki/ca': 'read' }, 'GET pki/ca', true, 'one leading slash is taken off a pattern'],
  [{ '//pki/ca': 'read' }, 'GET pki/ca', false, 'two are not'],
  [{ 'a/*/c': 'read' }, 'GET a/b/c', false, 'a * inside is no wildcard'],
  [{ 'a/*/c': 'read' }, 'GET a/*/c', true, 'but itself'],
  [{ 'a/+b/c': 'read' }, 'GET a/xb/c', false, 'a + in a segment is no wildcard'],
  [{ 'a/+b/c': 'read' }, 'GET a/+b/c', true, 'but itself'],
  [{ 'a/+/c': 'read' }, 'GET a/b/c', true, 'any segment'],
  [{ 'a/+/c': 'read' }, 'GET a/b/x/c', false, 'one, not two'],
  [{ 'a/+/c': 'read' }, 'GET a//c', false, 'not an empty one'],
  [{ 'a/+/c': 'read' }, 'GET a/b/cd', false, 'the segment after it is whole'],
  [{ 'a/+/c': 'read' }, 'GET a/b', false, 'a shorter path'],
  [{ 'a/+/c': 'read' }, 'GET a/b/c/d', false, 'a longer path'],
  [{ '+/+/+': 'read' }, 'GET a/b/c', true, 'several'],
  [{ '+': 'read' }, 'GET a', true, 'alone'],
  [{ '+': 'read' }, 'GET a/b', false, 'alone it is one segment'],
  [{ 'a/+/c*': 'read' }, 'GET a/b/c', true, 'both wildcards, empty rest'],
  [{ 'a/+/c*': 'read' }, 'GET a/b/cd/e', true, 'both wildcards'],
  [{ 'a/+/c*': 'read' }, 'GET a/b/d', false, 'both wildcards, other text'],
  [{ 'a/+/*': 'read' }, 'GET a/b/c/d', true, 'everything beneath any segment'],
  [{ 'a/+/*': 'read' }, 'GET a/b', false, 'not the segment itself'],
  [{ 'a/+/b/+': 'read' }, 'GET a/x/b/y', true, 'a wildcard at the end'],
  [{ 'a/+/b/+': 'read' }, 'GET a/x/c/y', false, 'a literal between'],
  // Precedence, each step with its mirror.
  [{ '+/b': 'read', 'a/+': 'deny' }, 'GET a/b', false, 'a later first wildcard'],
  [{ '+/b': 'deny', 'a/+': 'read' }, 'GET a/b', true, 'a later first wildcard, mirrored'],
  [
    { 'a/+/+': 'read', 'a/+/c*': 'deny' },
    'GET a/b/c',
    true,
    'no trailing * weighs more than fewer +',
  ],
  [{ 'a/+/+': 'deny', 'a/+/c*': 'read' }, 'GET a/b/c', false, 'the same, mirrored'],
  [{ 'a/+/c': 'read', 'a/+/+': 'deny' }, 'GET a/b/c', true, 'fewer +'],
  [{ 'a/+/c': 'deny', 'a/+/+': 'read' }, 'GET a/b/c', false, 'fewer +, mirrored'],
  [{ 'a/+/c*': 'read', 'a/+/*': 'deny' }, 'GET a/b/cd', true, 'longer'],
  [{ 'a/+/c*': 'deny', 'a/+/*': 'read' }, 'GET a/b/cd', false, 'longer, mirrored'],
  [{ 'a/+/b/+': 'read', 'a/+/+/c': 'deny' }, 'GET a/x/b/c', true, 'larger as text'],
  [{ 'a/+/b/+': 'deny', 'a/+/+/c': 'read' }, 'GET a/x/b/c', false, 'larger as text, mirrored'],
  [
    { 'pki/*': 'update', 'pki/issue/*': 'read' },
    'POST pki/issue/web',
    false,
    'only the best pattern counts',
  ],
  [{}, 'GET pki/ca', false, 'no rule, no access'],
  [{ 'pki/ca': '' }, 'GET pki/ca', false, 'a rule without capabilities'],
];
for (const [rules, request, allowed, rule] of paths) {
  test(`${JSON.stringify(rules)} ${allowed ? 'allows' : 'refuses'} ${request}: ${rule}`, () => {
    assert.equal(judge(aclOf(rules), request), allowed);
  });
}

for (const [verb, operation] of Object.entries(OPERATIONS)) {
  test(`${operation} needs "${operation}" and nothing else will do`, () => {
    assert.equal(judge(aclOf({ x: operation }), `${verb} x`), true);
    const others = Object.values(OPERATIONS).filter((other) => other !== operation);
    assert.equal(judge(aclOf({ x: [...others, 'sudo'].join(' ') }), `${verb} x`), false);
  });
}

test('a root-protected path needs sudo besides the capability', () => {
  const all = 'create read update patch delete list';
  const sudoRequired = true;
  assert.equal(judge(aclOf({ 'pki/*': all }), 'DELETE pki/root', { sudoRequired }), false);
  assert.equal(judge(aclOf({ 'pki/*': `${all} sudo` }), 'DELETE pki/root', { sudoRequired }), true);
  assert.equal(judge(aclOf({ 'pki/root': 'sudo' }), 'DELETE pki/root', { sudoRequired }), false);
  assert.equal(
    judge(aclOf({ 'pki/*': 'sudo', 'pki/root': 'delete' }), 'DELETE pki/root', { sudoRequired }),
    false,
  );
});

test('create is not update', () => {
  assert.equal(judge(aclOf({ 'pki/issue/web': 'create' }), 'POST pki/issue/web'), false);
  assert.equal(judge(aclOf({ 'pki/issue/web': 'update' }), 'POST pki/issue/web'), true);
});

test('a deny takes one path out of a grant, whichever policy has it', () => {
  for (const acl of [
    aclOf({ 'pki/issue/*': 'update', 'pki/issue/web': 'deny' }),
    aclOf({ 'pki/issue/*': 'update' }, { 'pki/issue/web': 'deny' }),
  ]) {
    assert.equal(judge(acl, 'POST pki/issue/web'), false);
    assert.equal(judge(acl, 'POST pki/issue/api'), true);
  }
});

test('a parameter that is not listed is refused where some are', () => {
  const acl = aclOf(`path "pki/issue/web" {
    capabilities = ["update"]
    allowed_parameters = { "common_name" = ["*.example.com"] }
  }`);
  const ask = (parameters: Record<string, unknown>) =>
    judge(acl, 'POST pki/issue/web', { parameters });
  assert.equal(ask({ common_name: 'a.example.com' }), true);
  assert.equal(ask({ common_name: 'a.example.com', ttl: '1h' }), false);
  assert.equal(ask({ common_name: 'a.example.org' }), false);
  assert.equal(ask({}), true);
});

test('a pattern "+*" is no policy', () => {
  assert.throws(() => aclOf({ 'pki/+*': 'read' }), /"\+\*" is not allowed/);
});

test('a deny beside other capabilities of the same stanza clears them', () => {
  assert.equal(judge(aclOf({ x: 'read deny' }), 'GET x'), false);
});

test('the same pattern in two policies: united, and a deny in either wins', () => {
  const united = aclOf({ 'pki/roles/x': 'read' }, { 'pki/roles/x': 'update' });
  assert.equal(judge(united, 'GET pki/roles/x'), true);
  assert.equal(judge(united, 'POST pki/roles/x'), true);
  assert.equal(judge(united, 'DELETE pki/roles/x'), false);
  for (const order of [
    ['read', 'deny', 'read'],
    ['deny', 'read', 'read'],
  ]) {
    const acl = aclOf(...order.map((words) => ({ 'pki/roles/x': words })));
    assert.equal(judge(acl, 'GET pki/roles/x'), false);
  }
});

test('duplicate stanzas in one policy are merged like those of two', async () => {
  const acl = aclOf('path "x" { policy = "read" } path "x" { capabilities = ["delete"] }');
  assert.deepEqual(await capabilitiesAt(acl, 'x'), ['delete', 'list', 'read']);
});

test('the root policy allows everything, beside any deny', async () => {
  const acl = compiledAcl([parsePolicy('path "*" { policy = "deny" }'), ROOT_POLICY], NOW);
  assert.equal(judge(acl, 'DELETE pki/root', { sudoRequired: true }), true);
  assert.deepEqual(await capabilitiesAt(acl, 'x'), ['root']);
  assert.equal(await hasAccessBeneath(acl, 'pki/', new RuleWalk()), true);
});

test('answers must be wrapped as the rule says', () => {
  const acl = aclOf(
    'path "x" { capabilities = ["read"] min_wrapping_ttl = 60 max_wrapping_ttl = 120 }',
  );
  for (const [wrapTtl, allowed] of [
    [undefined, false],
    [59, false],
    [60, true],
    [120, true],
    [121, false],
  ] as const) {
    assert.equal(judge(acl, 'GET x', { wrapTtl }), allowed, `${wrapTtl}`);
  }
  assert.equal(judge(aclOf('path "x" { policy = "read" max_wrapping_ttl = 120 }'), 'GET x'), false);
});

test('merged wrapping bounds: the lower minimum, the higher maximum, and a lone bound stays', () => {
  const stanza = (min: number, max: number) =>
    `path "x" { policy = "read" min_wrapping_ttl = ${min} max_wrapping_ttl = ${max} }`;
  const acl = aclOf(stanza(60, 120), stanza(30, 90), 'path "x" { policy = "read" }');
  for (const [wrapTtl, allowed] of [
    [29, false],
    [30, true],
    [120, true],
    [121, false],
  ] as const) {
    assert.equal(judge(acl, 'GET x', { wrapTtl }), allowed, `${wrapTtl}`);
  }
  assert.equal(judge(acl, 'GET x'), false);
});

test('a stanza that has run out grants nothing, and the table says when it must be made anew', () => {
  const text = (at: string) => `path "x" { policy = "read" expiration = "${at}" }`;
  assert.equal(judge(aclOf(text('2020-01-01T00:00:00Z')), 'GET x'), false);
  const acl = aclOf(text('2099-01-01T00:00:00Z'));
  assert.equal(judge(acl, 'GET x'), true);
  assert.equal(acl.valid_until, Date.UTC(2099, 0, 1) / 1000);
  assert.equal(aclOf({ x: 'read' }).valid_until, Number.POSITIVE_INFINITY);
});

test('a condition that cannot be checked is not met', () => {
  assert.equal(
    judge(aclOf('path "x" { policy = "read" control_group = { f = 1 } }'), 'GET x'),
    false,
  );
  assert.equal(judge(aclOf('path "x" { policy = "read" mfa_methods = ["a"] }'), 'GET x'), false);
  assert.equal(judge(aclOf('path "x" { policy = "read" mfa_methods = [] }'), 'GET x'), true);
});

test('a list keeps to the largest page', () => {
  const acl = aclOf('path "x" { policy = "read" pagination_limit = 10 }');
  assert.equal(judge(acl, 'LIST x', { parameters: { limit: '10' } }), true);
  assert.equal(judge(acl, 'LIST x', { parameters: { limit: 11 } }), false);
  assert.equal(judge(acl, 'LIST x'), false);
  assert.equal(judge(acl, 'GET x'), true);
});

/** An endpoint with these fields, each read as a number where it can be. */
const readerWith = (...names: string[]): ParameterReader => ({
  knows: (name) => names.includes(name),
  read: (name, value) => (names.includes(name) && value !== '' ? Number(value) : undefined),
  *walk(name, value) {
    yield;
    return this.read(name, value);
  },
  also: () => undefined,
  namesOf: (name) => [name],
});

test('a list that has no pages is refused where a largest page is asked for', () => {
  const acl = aclOf('path "x" { policy = "read" pagination_limit = 10 }');
  const parameters = { limit: '10' };
  assert.equal(judge(acl, 'LIST x', { parameters, reader: readerWith('limit') }), true);
  assert.equal(judge(acl, 'LIST x', { parameters, reader: readerWith('after') }), false);
  assert.equal(judge(acl, 'LIST x', { parameters: {}, reader: readerWith('limit') }), false);
  const free = aclOf('path "x" { policy = "read" }');
  assert.equal(judge(free, 'LIST x', { parameters, reader: readerWith('after') }), true);
});

test('rules on parameters bound a list by the fields that it has', () => {
  const lists: [rule: string, fields: string[], sent: object, allowed: boolean][] = [
    ['denied_parameters = { "name" = [] }', ['name'], { name: '1' }, false],
    ['denied_parameters = { "name" = [] }', ['name', 'after'], { after: '1' }, true],
    ['denied_parameters = { "name" = [] }', ['after'], { name: '1' }, true],
    ['allowed_parameters = { "name" = [] }', ['name', 'role'], { role: '1' }, false],
    ['allowed_parameters = { "name" = [] }', ['name', 'role'], { name: '1' }, true],
    ['required_parameters = ["name"]', ['name'], {}, false],
    ['required_parameters = ["name"]', ['name'], { name: '1' }, true],
    ['required_parameters = ["common_name"]', ['name'], {}, true],
  ];
  for (const [rule, fields, sent, allowed] of lists) {
    const acl = aclOf(`path "x" { policy = "read" ${rule} }`);
    const parameters = { ...sent };
    const judged = judge(acl, 'LIST x', { parameters, reader: readerWith(...fields) });
    assert.equal(judged, allowed, `${rule}: ${JSON.stringify(sent)} of ${fields.join()}`);
  }
});

test('what an identity is called never acts as a wildcard', () => {
  const acl = (path: string, name: string) => {
    const identity: IdentityFacts = {
      entity: { id: 'i', name, metadata: {}, aliases: {} },
      groups: [],
    };
    const policy = parsePolicy(`path "${path}" { capabilities = ["read"] }`);
    return compiledAcl([expandPolicy(policy, identity)], NOW);
  };
  const own = 'home/{{identity.entity.name}}';
  assert.equal(judge(acl(own, 'alice'), 'GET home/alice'), true);
  assert.equal(judge(acl(own, '*'), 'GET home/alice'), false);
  assert.equal(judge(acl(own, 'a*'), 'GET home/alice'), false);
  assert.equal(judge(acl(own, '*'), 'GET home/*'), true);
  assert.equal(judge(acl(own, '+'), 'GET home/alice'), false);
  assert.equal(judge(acl(own, 'alice/x'), 'GET home/alice/x'), false);
  assert.equal(judge(acl(`${own}/*`, '+'), 'GET home/alice/x'), false);
  assert.equal(judge(acl(`${own}/*`, 'bob+x'), 'GET home/bob+x/y'), true);
  assert.equal(judge(acl(`${own}*`, ''), 'GET home/alice'), false);
  assert.equal(judge(acl(own, '\u0001'), 'GET home/alice'), false);
  assert.equal(judge(acl(own, '{{identity.entity.id}}'), 'GET home/i'), false);
});

test('a stanza whose template was never expanded counts for nothing', () => {
  assert.equal(
    judge(aclOf({ '{{identity.entity.id}}': 'read', '{{identity.entity.id}}*': 'read' }), 'GET x'),
    false,
  );
});

const capabilities: [rules: Record<string, string>, path: string, expected: string[]][] = [
  [{ 'pki/roles/*': 'read list' }, 'pki/roles/web', ['list', 'read']],
  [{ 'pki/roles/*': 'read list' }, '/pki/roles/web', ['list', 'read']],
  [{ 'pki/roles/*': 'read list' }, 'sys/mounts', ['deny']],
  [{ 'pki/roles/*': 'read list', 'pki/roles/web': 'deny' }, 'pki/roles/web', ['deny']],
  [{ x: 'update sudo create patch delete' }, 'x', ['create', 'delete', 'patch', 'sudo', 'update']],
  [{ x: 'list' }, 'x/', ['list']],
  [{ x: '' }, 'x', ['deny']],
  [{ x: 'scan' }, 'x', ['scan']],
];
for (const [rules, path, expected] of capabilities) {
  test(`capabilities of ${path} under ${JSON.stringify(rules)}: ${expected.join(', ')}`, async () => {
    assert.deepEqual(await capabilitiesAt(aclOf(rules), path), expected);
  });
}

const mounts: [rules: Record<string, string>, visible: boolean, rule: string][] = [
  [{ 'pki/issue/web': 'update' }, true, 'an exact rule beneath'],
  [{ pki: 'list' }, true, 'the mount itself'],
  [{ 'pki/*': 'read' }, true, 'everything beneath'],
  [{ 'pki/issue/w*': 'update' }, true, 'a prefix beneath'],
  [{ 'pk*': 'read' }, true, 'a prefix above'],
  [{ '*': 'read' }, true, 'everything'],
  [{ '+/issue/web': 'update' }, true, 'a segment wildcard above'],
  [{ '+/*': 'read' }, true, 'both wildcards'],
  [{ 'pki/+/x': 'read' }, true, 'a segment wildcard beneath'],
  [{}, false, 'nothing'],
  [{ 'pki2/*': 'read' }, false, 'another mount'],
  [{ 'pkix*': 'read' }, false, 'a look-alike'],
  [{ '+': 'read' }, false, 'one segment is not beneath'],
  [{ 'pki/*': 'deny' }, false, 'a deny'],
  [{ 'pki/*': '' }, false, 'no capabilities'],
  [{ '*': 'read', 'pki/*': 'deny' }, false, 'a deny over a wider grant'],
  [{ '*': 'read', 'pki/+': 'deny' }, true, 'a deny of one level only'],
  [{ '*': 'read', 'pki/*': 'deny', 'pki/ca': 'read' }, true, 'a path let out of the deny'],
  [{ '+/issue/*': 'update', 'pki/*': 'deny' }, false, 'a deny over a segment wildcard'],
  [{ '+/issue/*': 'update', 'pki/roles/*': 'deny' }, true, 'a deny elsewhere'],
];
for (const [rules, visible, rule] of mounts) {
  test(`pki/ is ${visible ? 'shown' : 'hidden'} under ${JSON.stringify(rules)}: ${rule}`, async () => {
    assert.equal(await hasAccessBeneath(aclOf(rules), 'pki/', new RuleWalk()), visible);
  });
}

test('a mount of two segments is found beneath wildcards', async () => {
  assert.equal(
    await hasAccessBeneath(aclOf({ 'auth/+/login/*': 'update' }), 'auth/userpass/', new RuleWalk()),
    true,
  );
  assert.equal(
    await hasAccessBeneath(aclOf({ 'auth/+/login/*': 'update' }), 'sys/userpass/', new RuleWalk()),
    false,
  );
});

test('before its fields are known, a request is stopped by what no field can change, and only by that', () => {
  const acl = aclOf(
    `path "pki/issue/web" { capabilities = ["update"] required_parameters = ["ttl"] }
     path "pki/sign/web" { capabilities = ["update"] min_wrapping_ttl = "10s" }
     path "pki/root" { capabilities = ["delete"] }
     path "pki/keys" { capabilities = ["deny"] }`,
  );
  const may = (path: string, operation: Operation, sudoRequired = false) =>
    mayBeAllowed(acl, { path, operation, sudoRequired });
  assert.equal(may('pki/issue/web', 'update'), true);
  assert.equal(judge(acl, 'POST pki/issue/web'), false);
  assert.equal(may('pki/sign/web', 'update'), true);
  assert.equal(may('pki/issue/web', 'read'), false);
  assert.equal(may('pki/issue/other', 'update'), false);
  assert.equal(may('pki/root', 'delete', true), false);
  assert.equal(may('pki/keys', 'list'), false);
  assert.equal(
    mayBeAllowed(compiledAcl([ROOT_POLICY], NOW), {
      path: 'x',
      operation: 'update',
      sudoRequired: true,
    }),
    true,
  );
});

const LAST: AccessRequest['formed'] = [{ at: 3, form: 'lower_case' }];
const REF: AccessRequest['formed'] = [{ at: 2, form: 'default_word' }];
const ALL = 'create read update patch delete list';

const spellings: [
  rules: Record<string, string>,
  request: string,
  formed: AccessRequest['formed'],
  allowed: boolean,
  rule: string,
][] = [
  [{ 'auth/up/users/*': ALL, 'auth/up/users/boss': 'deny' }, 'GET auth/up/users/Boss', LAST, false, 'a deny of the name'],
  [{ 'auth/up/users/*': ALL, 'auth/up/users/Boss': 'deny' }, 'GET auth/up/users/boss', LAST, false, 'a deny in capitals'],
  [{ 'auth/up/users/*': ALL, 'auth/up/users/BO*': 'deny' }, 'GET auth/up/users/boss', LAST, false, 'a deny of a beginning in capitals'],
  [{ 'auth/up/users/*': ALL, 'auth/+/users/Boss': 'deny' }, 'GET auth/up/users/boss', LAST, true, 'the later wildcard still decides'],
  [{ 'auth/up/+/x': ALL, 'auth/up/users/+': 'read' }, 'GET auth/up/users/X', LAST, true, 'a wildcard has no case'],
  [{ 'auth/up/users/Boss': 'read' }, 'GET auth/up/users/boss', LAST, true, 'a grant in capitals'],
  [{ 'auth/up/users/Boss': 'read', 'auth/up/users/boss': 'delete' }, 'DELETE auth/up/users/BOSS', LAST, true, 'two spellings are one rule'],
  [{ 'auth/up/users/Boss': 'deny', 'auth/up/users/boss': ALL }, 'GET auth/up/users/boss', LAST, false, 'in which a deny wins'],
  [{ 'auth/UP/users/boss': 'read' }, 'GET auth/up/users/boss', LAST, false, 'the case of other segments counts'],
  [{ 'auth/up/users/Boss': 'read' }, 'GET auth/up/users/boss', undefined, false, 'and of names that have one spelling'],
  [{ 'auth/up/users/boss/*': 'deny', 'auth/up/*': ALL }, 'POST auth/up/users/Boss/password', LAST, false, 'a name before the end'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/default': 'deny' }, 'GET pki/issuer/DEFAULT', REF, false, 'the word "default"'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/Default': 'deny' }, 'GET pki/issuer/default', REF, false, 'a deny of that word in capitals'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/web': 'deny' }, 'GET pki/issuer/Web', REF, true, 'other names of issuers have case'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'GET pki/issuer/default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'GET pki/issuer/DEFAULT', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'GET pki/issuer/Default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/Def*': 'deny' }, 'GET pki/issuer/default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/Def*': 'deny' }, 'GET pki/issuer/DEFAULT', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/Def*': 'deny' }, 'GET pki/issuer/Default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/D*': 'deny' }, 'GET pki/issuer/default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/D*': 'deny' }, 'GET pki/issuer/DEFAULT', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/D*': 'deny' }, 'GET pki/issuer/Default', REF, false, 'a deny of a beginning of the word'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'POST pki/issuer/default/issue/web', REF, false, 'and of all beneath it'],
  [{ 'pki/+/*': ALL, 'pki/+/DEF*': 'deny' }, 'GET pki/issuer/default', REF, false, 'also after a wildcard'],
  [{ 'pki/issuer/DEF*': 'read' }, 'GET pki/issuer/default', REF, true, 'a grant of such a beginning'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'GET pki/issuer/default2', REF, true, 'a name that only begins so has case'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEFAULT*': 'deny' }, 'GET pki/issuer/DEFAULT2', REF, false, 'and is what the rule names'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/DEX*': 'deny' }, 'GET pki/issuer/default', REF, true, 'another beginning'],
  [{ 'pki/issuer/*': ALL, 'pki/issuer/WE*': 'deny' }, 'GET pki/issuer/web', REF, true, 'a beginning of other names has case'],
  [{ 'auth/up/users/*': ALL, 'auth/up/users/ΑΣ*': 'deny' }, 'GET auth/up/users/ΑΣΑ', LAST, false, 'a letter that is written otherwise at an end'],
  [{ 'auth/up/users/*': ALL, 'auth/up/users/ΑΣ': 'deny' }, 'GET auth/up/users/ασ', LAST, false, 'the same in a whole name'],
  [{ 'auth/up/users/*': ALL, 'auth/up/users/ΑΣ*': 'deny' }, 'GET auth/up/users/ΑΤΑ', LAST, true, 'another letter'],
]; // biome-ignore format: one rule a line

for (const [rules, request, formed, allowed, rule] of spellings) {
  test(`${request} under ${JSON.stringify(rules)}: ${rule}`, async () => {
    const more = formed ? { formed } : {};
    assert.equal(judge(aclOf(rules), request, more), allowed);
    const [verb = '', path = ''] = request.split(' ');
    const told = await capabilitiesAt(aclOf(rules), path, formed);
    assert.equal(told.includes(OPERATIONS[verb] ?? ''), allowed);
  });
}

/** Where a rule's first wildcard is. */
function wildAt(rule: string): number {
  const places = [/(^|\/)\+(\/|$)/, /\*$/].map((mark) => {
    const found = mark.exec(rule);
    if (!found) return Number.POSITIVE_INFINITY;
    return found.index + (found[0].startsWith('/') ? 1 : 0);
  });
  return Math.min(...places);
}

/** Rules as those are ranked that match one path, the deciding one first. */
function rankAll(rules: readonly string[]): string[] {
  const plus = (rule: string): number =>
    rule.split('/').filter((segment) => segment === '+').length;
  return [...rules].sort(
    (a, b) =>
      (wildAt(b) === wildAt(a) ? 0 : wildAt(b) - wildAt(a)) ||
      Number(a.endsWith('*')) - Number(b.endsWith('*')) ||
      plus(a) - plus(b) ||
      b.length - a.length ||
      (a < b ? 1 : -1),
  );
}

/** Those that match a path, ranked. */
function rankOf(rules: readonly string[], path: string): string[] {
  const matches = (rule: string): boolean => {
    const source = rule
      .split('/')
      .map((segment) => (segment === '+' ? '[^/]+' : segment.replace(/\*$/, '.*')))
      .join('/');
    return new RegExp(`^${source}$`).test(path);
  };
  return rankAll(rules.filter(matches));
}

test('a list is allowed where its best rule says so, and no deny of that rank is on the bare path', () => {
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const word = () => ['a', 'b', '+', '+'][next(4)] ?? '';
  const rule = (): string => {
    const segments = Array.from({ length: 1 + next(2) }, word);
    return segments.join('/') + (['', '', '/', '/*', '*'][next(5)] ?? '');
  };
  let [allowed, denied] = [0, 0];
  for (let round = 0; round < 5000; round++) {
    const rules: Record<string, string> = {};
    for (let count = 2 + next(4); count > 0; count--) {
      const path = rule();
      if (!path.endsWith('+*'))
        rules[path] = ['deny', 'list', 'list', 'read', 'deny'][next(5)] ?? '';
    }
    const path = ['a/b', 'a', 'b/a', 'ab/b'][next(4)] ?? '';
    const both = [...rankOf(Object.keys(rules), `${path}/`), ...rankOf(Object.keys(rules), path)];
    const exact = [`${path}/`, path].find((each) => rules[each] !== undefined);
    const best = exact ?? rankOf(Object.keys(rules), `${path}/`)[0];
    const bare = rankOf(Object.keys(rules), path)[0];
    // Whichever of the two ranks first, as if one path matched both.
    const first = exact ?? rankAll(both)[0];
    const stopped = bare !== undefined && rules[bare] === 'deny' && first === bare;
    const expected = best !== undefined && rules[best] === 'list' && !stopped;
    assert.equal(
      judge(aclOf(rules), `LIST ${path}`),
      expected,
      `LIST ${path} under ${JSON.stringify(rules)}`,
    );
    if (expected) allowed += 1;
    else if (best !== undefined && rules[best] === 'list') denied += 1;
  }
  assert.ok(allowed > 500 && denied > 20, `${allowed} ${denied}`);
});
