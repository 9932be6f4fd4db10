import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure } from '../core/failure.ts';
import type { IdentityFacts } from '../core/identity-template.ts';
import { expandPolicy } from './policy.ts';
import { parsePolicy } from './policy-reader.ts';
import { decodePolicyText } from './policy-text.ts';

function onlyRule(text: string) {
  const [rule, ...more] = parsePolicy(text).rules;
  assert.ok(rule);
  assert.equal(more.length, 0);
  return rule;
}

test('a stanza is read with everything it says', () => {
  const rule = onlyRule(`
    name = "web"
    path "/pki/issue/+" {
      comment = "for the web team"
      capabilities = ["update", "read", "update"]
      allowed_parameters = { "Common_Name" = ["*.example.com", 1, true, ["a", "b"]], "*" = [] }
      denied_parameters { ttl = [] }
      required_parameters = ["Common_Name"]
      min_wrapping_ttl = "1m"
      max_wrapping_ttl = 3600
      expiration = "2030-01-01T00:00:00Z"
      pagination_limit = 50
      mfa_methods = []
    }`);
  assert.equal(rule.pattern.text, 'pki/issue/+');
  assert.deepEqual(rule.capabilities, ['update', 'read']);
  assert.deepEqual(
    [...rule.allowed_parameters],
    [
      ['common_name', ['*.example.com', 1, true, ['a', 'b']]],
      ['*', []],
    ],
  );
  assert.deepEqual([...rule.denied_parameters], [['ttl', []]]);
  assert.deepEqual(rule.required_parameters, ['common_name']);
  assert.equal(rule.min_wrapping_ttl, 60);
  assert.equal(rule.max_wrapping_ttl, 3600);
  assert.equal(rule.expiration, 1_893_456_000);
  assert.equal(rule.pagination_limit, 50);
  assert.equal(rule.unmet, undefined);
});

test('JSON says the same as HCL', () => {
  const stanza = '{"capabilities":["read"],"allowed_parameters":{"a":[null]}}';
  for (const text of [
    `{"path":{"x/*":${stanza}}}`,
    `{"path":[{"x/*":${stanza}}]}`,
    `{"path":{"x/*":[${stanza}]}}`,
  ]) {
    const rule = onlyRule(text);
    assert.equal(rule.pattern.text, 'x/*');
    assert.deepEqual(rule.capabilities, ['read']);
    assert.deepEqual([...rule.allowed_parameters], [['a', [null]]]);
  }
});

const shorthands: [word: string, capabilities: string[]][] = [
  ['read', ['read', 'list']],
  ['write', ['create', 'read', 'update', 'delete', 'list']],
  ['sudo', ['create', 'read', 'update', 'delete', 'list', 'sudo']],
  ['deny', ['deny']],
];
for (const [word, capabilities] of shorthands) {
  test(`policy = "${word}" stands for ${capabilities.join(', ')}`, () => {
    assert.deepEqual(onlyRule(`path "x" { policy = "${word}" }`).capabilities, capabilities);
  });
}

test('a policy without stanzas, or only a comment, says nothing and is a policy', () => {
  assert.deepEqual(parsePolicy('# later').rules, []);
});

test('the name in a text means nothing, so no text can be the root policy', () => {
  assert.deepEqual(parsePolicy('name = "root"'), { root: false, rules: [] });
});

const refused: [text: string, message: RegExp][] = [
  [
    'path "x" { capabilities = ["fly"] }',
    /^failed to parse policy: path "x": invalid capability "fly" \(at 1:28\)$/,
  ],
  ['path "x" { capabilities = ["Read"] }', /invalid capability "Read"/],
  ['path "x" { capabilities = ["root"] }', /invalid capability "root"/],
  ['path "x" { capabilities = [1] }', /invalid capability/],
  ['path "x" { capabilities = "read" }', /"capabilities" must be a list/],
  [
    'path "x" { capability = ["read"] }',
    /^failed to parse policy: path "x": invalid key "capability" \(at 1:12\)$/,
  ],
  ['paths "x" { capabilities = ["read"] }', /^failed to parse policy: invalid key "paths"/],
  ['path "x" { __proto__ = ["read"] }', /invalid key "__proto__"/],
  ['name = 1', /"name" must be a string/],
  ['path "a/+*" { capabilities = ["read"] }', /"\+\*" is not allowed/],
  ['path "a+*" { capabilities = ["read"] }', /"\+\*" is not allowed/],
  ['path "a\\u0001" { capabilities = ["read"] }', /no control characters/],
  ['path "a" "b" { capabilities = ["read"] }', /more than one pattern/],
  ['path "a" { capabilities = ["read"] capabilities = ["list"] }', /"capabilities" is given twice/],
  ['path "a" { policy = "write" capabilities = ["read"] }', /exclude each other/],
  ['path "a" { policy = "admin" }', /invalid policy/],
  ['path = "a"', /must be a block/],
  [
    'path "a" { min_wrapping_ttl = 2 max_wrapping_ttl = 1 }',
    /cannot be less than "min_wrapping_ttl"/,
  ],
  ['path "a" { min_wrapping_ttl = "-1s" }', /must be a duration/],
  ['path "a" { max_wrapping_ttl = "1w" }', /must be a duration/],
  ['path "a" { max_wrapping_ttl = true }', /must be a duration/],
  ['path "a" { allowed_parameters = { a = "b" } }', /"a" must be a list of values/],
  ['path "a" { allowed_parameters = ["a"] }', /must be a map of lists/],
  ['path "a" { denied_parameters = { a = [] A = [] } }', /"a" is given twice/],
  ['path "a" { denied_parameters = { a = [{}] } }', /a value is a string, number, bool or list/],
  ['path "a" { required_parameters = "a" }', /must be a list/],
  ['path "a" { required_parameters = [1] }', /must be a list of strings/],
  ['path "a" { expiration = "tomorrow" }', /must be a time/],
  ['path "a" { pagination_limit = 1.5 }', /must be a whole number/],
  ['path "{{identity.entity.nme}}" { }', /unknown template "\{\{identity\.entity\.nme\}\}"/],
  ['path "{{identity.entity.id" { }', /unbalanced template/],
  ['path "identity.entity.id}}" { }', /unbalanced template/],
  ['path "x" {', /^failed to parse policy: 1:11: expected "}"/],
  ['common_name', /^failed to parse policy: 1:12/],
];
for (const [text, message] of refused) {
  test(`refused: ${text}`, () => {
    assert.throws(
      () => parsePolicy(text),
      (error) =>
        error instanceof Failure && error.kind === 'invalid' && message.test(error.message),
    );
  });
}

test('equal bounds of wrapping are a range of one', () => {
  assert.equal(
    onlyRule('path "a" { min_wrapping_ttl = 60 max_wrapping_ttl = "1m" }').max_wrapping_ttl,
    60,
  );
});

test('a condition that cannot be checked here is accepted and remembered', () => {
  assert.equal(onlyRule('path "a" { mfa_methods = ["totp"] }').unmet, 'mfa_methods');
  assert.equal(onlyRule('path "a" { control_group = { ttl = "4h" } }').unmet, 'control_group');
});

test('base64 is taken off a policy, and a policy in clear is left alone', () => {
  const text = 'path "x" { capabilities = ["read"] }';
  const encoded = Buffer.from(text).toString('base64');
  assert.equal(decodePolicyText(encoded), text);
  assert.equal(decodePolicyText(`${encoded.slice(0, 20)}\n${encoded.slice(20)}\n`), text);
  assert.equal(decodePolicyText(text), text);
  assert.equal(decodePolicyText(''), '');
  assert.throws(() => decodePolicyText('/////w=='), Failure);
});

const IDENTITY: IdentityFacts = {
  entity: {
    id: 'e-1',
    name: 'alice',
    metadata: { team: 'web', 'a.b': 'dotted', star: '*', plus: '+', slash: 'a/b', empty: '' },
    aliases: {
      auth_userpass_1: {
        id: 'al-1',
        name: 'bob+test@example.com',
        metadata: { dept: 'it' },
        custom_metadata: { floor: '3' },
      },
    },
  },
  groups: [{ id: 'g-1', name: 'ops.eu', metadata: { region: 'eu' } }],
};

function expanded(path: string, identity: IdentityFacts | undefined = IDENTITY): string[] {
  const policy = parsePolicy(`path "${path}" { capabilities = ["read"] }`);
  return expandPolicy(policy, identity).rules.map(({ pattern }) => pattern.text);
}

const templates: [path: string, expected: string[]][] = [
  ['a/{{identity.entity.id}}', ['a/e-1']],
  ['a/{{ identity.entity.name }}/*', ['a/alice/*']],
  ['{{identity.entity.name}}/{{identity.entity.metadata.team}}/+', ['alice/web/+']],
  ['a/{{identity.entity.metadata.a.b}}', ['a/dotted']],
  ['a/{{identity.entity.metadata.none}}', []],
  ['a/{{identity.entity.metadata.toString}}', []],
  ['a/{{identity.entity.metadata.empty}}*', []],
  ['a/{{identity.entity.metadata.slash}}', []],
  ['a/{{identity.entity.aliases.auth_userpass_1.name}}', ['a/bob+test@example.com']],
  ['a/{{identity.entity.aliases.auth_userpass_1.id}}', ['a/al-1']],
  ['a/{{identity.entity.aliases.auth_userpass_1.metadata.dept}}', ['a/it']],
  ['a/{{identity.entity.aliases.auth_userpass_1.custom_metadata.floor}}', ['a/3']],
  ['a/{{identity.entity.aliases.auth_userpass_2.name}}', []],
  ['a/{{identity.groups.ids.g-1.name}}', ['a/ops.eu']],
  ['a/{{identity.groups.names.ops.eu.id}}', ['a/g-1']],
  ['a/{{identity.groups.names.ops.eu.metadata.region}}', ['a/eu']],
  ['a/{{identity.groups.ids.g-2.name}}', []],
];
for (const [path, expected] of templates) {
  test(`${path} becomes ${expected.join() || 'nothing'}`, () => {
    assert.deepEqual(expanded(path), expected);
  });
}

test('without an identity a templated stanza is left out and the others stay', () => {
  const policy = parsePolicy(
    'path "a" { policy = "read" } path "{{identity.entity.id}}" { policy = "read" }',
  );
  assert.deepEqual(
    expandPolicy(policy, undefined).rules.map(({ pattern }) => pattern.text),
    ['a'],
  );
});

test('a policy without templates is the same for everybody', () => {
  const policy = parsePolicy('path "a" { policy = "read" }');
  assert.equal(expandPolicy(policy, IDENTITY), policy);
});
