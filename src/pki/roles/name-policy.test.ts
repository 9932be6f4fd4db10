import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { judgeNames, type RequestedNames } from './name-policy.ts';
import { planRole } from './plan.ts';
import { type NameRules, roleSchema } from './role.ts';

type Rules = Partial<NameRules>;

const bare: Rules = { allow_bare_domains: true };
const sub: Rules = { allow_subdomains: true };
const glob: Rules = { allow_glob_domains: true };
const any: Rules = { allow_any_name: true };
const noHostnames: Rules = { enforce_hostnames: false };
const noWildcards: Rules = { allow_wildcard_certificates: false };

function roleOf(rules: Rules): NameRules {
  return planRole(roleSchema.parse({ allowed_domains: 'example.com', ...rules })).role;
}

function judge(rules: Rules, names: Partial<RequestedNames>, identity?: IdentityFacts): string {
  const wanted: RequestedNames = {
    common_name: '',
    dns: [],
    email: [],
    ip: [],
    uri: [],
    other: [],
    serial_number: '',
    user_ids: [],
    ...names,
  };
  const verdict = judgeNames(roleOf(rules), wanted, identity);
  return verdict.allowed ? 'ok' : verdict.because;
}

const commonNames: [rules: Rules, name: string, allowed: boolean, why: string][] = [
  [bare, 'example.com', true, 'the domain itself'],
  [bare, 'EXAMPLE.com', true, 'the domain itself in other letters'],
  [{}, 'example.com', false, 'listing a domain is not enough'],
  [sub, 'a.example.com', true, 'a subdomain'],
  [sub, 'a.b.example.com', true, 'a deeper subdomain'],
  [sub, 'example.com', false, 'the domain is not beneath itself'],
  [sub, '*.example.com', true, 'a wildcard is beneath the domain'],
  [sub, '*.a.example.com', true, 'a deeper wildcard'],
  [bare, '*.example.com', false, 'a wildcard is not the domain itself'],
  [{ ...bare, allowed_domains: ['*.example.com'] }, '*.example.com', true, 'listed literally'],
  [
    { ...bare, allowed_domains: ['*.example.com'] },
    'a.example.com',
    false,
    'no glob without leave',
  ],
  [{ ...glob, allowed_domains: ['*.example.com'] }, 'a.b.example.com', true, 'a glob crosses dots'],
  [{ ...glob, allowed_domains: ['*.example.com'] }, 'example.com', false, 'the dot is needed'],
  [{ ...glob, allowed_domains: ['*.example.com'] }, 'a.example.com.evil', false, 'anchored'],
  [
    { ...glob, allowed_domains: ['foo*.example.com'] },
    'foobar.example.com',
    true,
    'within a label',
  ],
  [{ ...glob, allowed_domains: ['foo*.example.com'] }, 'foo.x.example.com', true, 'across labels'],
  [
    { ...glob, allowed_domains: ['foo*.example.com'] },
    'fo.example.com',
    false,
    'the start differs',
  ],
  [{ ...sub, ...noWildcards }, '*.example.com', false, 'wildcards are off'],
  [{ ...sub, ...noWildcards }, 'a.example.com', true, 'and only wildcards'],
  [sub, 'user@a.example.com', true, 'the address part is judged by its domain'],
  [bare, 'user@example.com', true, 'an address at the domain itself'],
  [sub, 'user@example.com', false, 'which is not beneath it'],
  [any, '*.*.example.com', false, 'two stars'],
  [any, '*x.example.com', true, 'a star before letters'],
  [any, 'x*.example.com', true, 'a star behind letters'],
  [any, 'f*o.example.com', true, 'a star between letters'],
  [any, 'under_score.example.com', false, 'an underscore is in no host name'],
  [any, 'example.com.', true, 'a trailing dot'],
  [any, 'example.com..', false, 'two trailing dots'],
  [{ ...any, ...noHostnames }, 'hello world', true, 'no host name, where none is wanted'],
  [any, 'hello world', false, 'no host name, where one is wanted'],

  // Look-alikes and edges.
  [sub, 'notexample.com', false, 'a look-alike suffix is no subdomain'],
  [sub, 'a.example.com.evil.test', false, 'the domain in the middle is no subdomain'],
  [sub, 'a.EXAMPLE.com', false, 'the suffix is compared letter by letter'],
  [sub, 'a.example.com.', false, 'a trailing dot makes another name'],
  [sub, '.example.com', false, 'an empty label'],
  [sub, 'a..example.com', false, 'an empty label inside'],
  [
    { ...sub, ...noHostnames },
    'a_b.example.com',
    true,
    'underscores where hostnames are not enforced',
  ],
  [
    { ...sub, ...noHostnames },
    'a\u0000.example.com',
    false,
    'a control character is never allowed',
  ],
  [{ ...any, ...noHostnames }, 'a\nb', false, 'nor is a line break'],
  [
    { ...sub, allowed_domains: ['', 'example.com'] },
    'evil.test',
    false,
    'an empty entry is no domain',
  ],
  [{ ...sub, allowed_domains: [''] }, 'evil.', false, 'not even for a name that ends in a dot'],
  [{ ...any, ...noWildcards }, '*.example.com', false, 'wildcards off wins over any name'],
  [{ ...any, ...noHostnames, ...noWildcards }, '*', false, 'also without hostname rules'],
  [any, 'foo.*.example.com', false, 'a star outside the first label'],
  [{ ...any, ...noHostnames }, 'foo.*.example.com', false, 'also without hostname rules'],
  [{ ...any, ...noHostnames }, '*.*.example.com', false, 'nor two stars'],
  [any, '*', true, 'a lone star'],
  [any, '-*.example.com', false, 'a wildcard label has the form of a label'],
  [any, 'xn--*.example.com', false, 'no star within an A-label'],
  [any, '*@example.com', false, 'a wildcard address'],
  [any, 'a@*.example.com', false, 'an address in a wildcard domain'],
  [{ ...any, ...noHostnames }, 'a@*.example.com', false, 'also without hostname rules'],
  [any, 'a@b@example.com', false, 'two at signs'],
  [any, 'a@', false, 'an address without a domain'],
  [any, '@example.com', false, 'an address without a local part'],
  [any, 'a b@example.com', false, 'a blank in the local part'],
  [
    { ...bare, allowed_domains: ['a@example.com'] },
    'a@example.com',
    true,
    'an address listed whole',
  ],
  [{ ...bare, allowed_domains: ['a@example.com'] }, 'b@example.com', false, 'and only that one'],
  [glob, 'a.example.com', false, 'a domain without a star is no glob'],
  [
    { ...sub, allowed_domains: ['*.example.com'] },
    'a.example.com',
    false,
    'a star is text without globs',
  ],
  [
    { ...bare, allowed_domains: ['bücher.de'] },
    'xn--bcher-kva.de',
    true,
    'A-label and other script are one',
  ],
  [{ ...bare, allowed_domains: ['xn--bcher-kva.de'] }, 'bücher.de', true, 'either way round'],
  [{ ...bare, allowed_domains: ['bücher.de'] }, 'bucher.de', false, 'but not what looks alike'],
  [any, 'xn--a.de', false, 'an A-label that does not decode'],

  // localhost
  [{}, 'localhost', true, 'localhost by default'],
  [{}, 'localdomain', true, 'localdomain too'],
  [{}, 'root@localhost', true, 'an address there'],
  [{}, 'a.localhost', false, 'beneath it only with subdomains'],
  [sub, 'a.localhost', true, 'with subdomains'],
  [{}, '*.localhost', false, 'a wildcard is beneath it'],
  [sub, '*.localdomain', true, 'with subdomains'],
  [{ allow_localhost: false }, 'localhost', false, 'switched off'],
  [{ allow_localhost: false, ...sub }, 'a.localhost', false, 'switched off with what is beneath'],
  [{}, 'notlocalhost', false, 'a look-alike'],
  [
    { allow_localhost: false, ...bare, allowed_domains: ['localhost'] },
    'localhost',
    true,
    'but may be listed',
  ],

  // Kinds of common name.
  [
    { ...bare, cn_validations: ['hostname'] },
    'user@example.com',
    false,
    'an address is no hostname',
  ],
  [{ ...bare, cn_validations: ['email'] }, 'user@example.com', true, 'it is an address'],
  [{ ...bare, cn_validations: ['email'] }, 'example.com', false, 'a hostname is no address'],
  [{ cn_validations: ['disabled'] }, 'Bank 123', true, 'nothing is checked'],
  [{}, 'Bank 123', false, 'unless disabled'],
];

for (const [rules, name, allowed, why] of commonNames) {
  test(`common name ${JSON.stringify(name)} under ${JSON.stringify(rules)}: ${why}`, () => {
    assert.equal(
      judge(rules, { common_name: name }),
      allowed ? 'ok' : `common name ${name} not allowed by this role`,
    );
  });
}

test('dNSNames and addresses follow the same rules as the common name', () => {
  for (const [rules, name, allowed] of commonNames) {
    if (rules.cn_validations || /[^\x20-\x7e]/.test(name)) continue;
    const kind = name.includes('@') ? 'email' : 'dns';
    assert.equal(judge(rules, { [kind]: [name] }) === 'ok', allowed, name);
  }
});

test('cn_validations says nothing about alternative names', () => {
  const rules: Rules = { cn_validations: ['disabled'] };
  assert.notEqual(judge(rules, { dns: ['evil.test'] }), 'ok');
  assert.equal(judge({ ...bare, cn_validations: ['email'] }, { dns: ['example.com'] }), 'ok');
});

test('an address may not pass for a dNSName, nor a host name for an address', () => {
  assert.notEqual(judge(bare, { dns: ['user@example.com'] }), 'ok');
  assert.notEqual(judge(bare, { email: ['example.com'] }), 'ok');
  assert.equal(judge(bare, { email: ['user@example.com'] }), 'ok');
});

test('names of other scripts are no dNSNames before they are converted', () => {
  const rules: Rules = { ...any, ...noHostnames };
  assert.notEqual(judge(rules, { dns: ['bücher.de'] }), 'ok');
  assert.notEqual(judge(rules, { email: ['ü@example.com'] }), 'ok');
  assert.equal(judge(rules, { dns: ['xn--bcher-kva.de'] }), 'ok');
});

test('a disallowed alternative name is named in the refusal', () => {
  assert.equal(
    judge(bare, { common_name: 'example.com', dns: ['example.com', 'evil.test'] }),
    'subject alternate name evil.test not allowed by this role',
  );
  assert.equal(
    judge(bare, { email: ['a@evil.test'] }),
    'email address a@evil.test not allowed by this role',
  );
});

const blocks = ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'];
const addresses: [rules: Rules, ip: string, allowed: boolean, why: string][] = [
  [{ allowed_ip_sans_cidr: blocks }, '10.255.0.1', true, 'in the first block'],
  [{ allowed_ip_sans_cidr: blocks }, '11.0.0.1', false, 'right after it'],
  [{ allowed_ip_sans_cidr: blocks }, '192.0.2.7', true, 'the one of a block of one'],
  [{ allowed_ip_sans_cidr: blocks }, '192.0.2.8', false, 'beside the one'],
  [{ allowed_ip_sans_cidr: blocks }, '2001:db8:ffff::', true, 'of the other family'],
  [{ allowed_ip_sans_cidr: blocks }, '2001:db9::', false, 'right after the block of the other'],
  [{ allowed_ip_sans_cidr: blocks }, '::ffff:10.0.0.1', true, 'the same address, written as IPv6'],
  [{ allowed_ip_sans_cidr: blocks }, '::ffff:11.0.0.1', false, 'another, written as IPv6'],
  [{ allowed_ip_sans_cidr: blocks }, '::ffff:b00:1', false, 'another, in hexadecimal'],
  [{ allowed_ip_sans_cidr: [] }, '11.0.0.1', true, 'no blocks: any'],
  [{ allowed_ip_sans_cidr: blocks, allow_ip_sans: false }, '10.0.0.1', false, 'none at all'],
  [{ allowed_ip_sans_cidr: blocks, ...any }, '11.0.0.1', false, 'any name is no any address'],
];
for (const [rules, ip, allowed, why] of addresses) {
  test(`the address ${ip} is ${allowed ? 'let in' : 'kept out'}: ${why}`, () => {
    assert.equal(judge(rules, { ip: [ip] }) === 'ok', allowed);
    assert.equal(judge(rules, { ip: ['10.0.0.1', ip] }) === 'ok', allowed, 'after another');
  });
}

test('an address that no block has is named, with where the blocks are', () => {
  assert.equal(
    judge({ allowed_ip_sans_cidr: blocks }, { ip: ['11.0.0.1'] }),
    'the IP address 11.0.0.1 is not allowed by allowed_ip_sans_cidr of this role',
  );
});

test('addresses: allowed by default, refused without leave, and refused when they are none', () => {
  assert.equal(judge({}, { ip: ['10.0.0.1', '::1', '2001:db8::1'] }), 'ok');
  assert.match(
    judge({ allow_ip_sans: false }, { ip: ['10.0.0.1'] }),
    /^IP Subject Alternative Names are not allowed in this role, but was provided via the API/,
  );
  for (const ip of [
    'nonsense',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1/8',
    'fe80::1%eth0',
  ]) {
    assert.equal(judge({}, { ip: [ip] }), `the value "${ip}" is not a valid IP address`);
  }
});

const uris: [allowed: string[], uri: string, verdict: 'ok' | RegExp, why: string][] = [
  [[], 'spiffe://host.com/a', /URI Subject Alternative Names are not allowed in this role/, 'none'],
  [['spiffe://host.com/*'], 'spiffe://host.com/a/b', 'ok', 'by glob'],
  [['spiffe://host.com/a'], 'spiffe://host.com/a', 'ok', 'listed exactly'],
  [['spiffe://host.com/a'], 'spiffe://host.com/ab', /not valid for this role/, 'longer'],
  [['spiffe://host.com/*'], 'spiffe://host.com', /not valid for this role/, 'the slash is needed'],
  [['spiffe://host.com/*'], 'SPIFFE://host.com/a', /not valid for this role/, 'letter by letter'],
  [['*'], 'urn:uuid:1', 'ok', 'any'],
  [['https://a.com*'], 'https://a.com@evil.com/', 'ok', '"*" is any text, a host\'s end too'],
  [['https://a.com/*'], 'https://a.com@evil.com/', /not valid/, 'unless "/" ends the host'],
  [['*'], 'no uri', /is not a valid URI/, 'but only URIs'],
  [['*'], '/relative', /is not a valid URI/, 'and absolute ones'],
  [['*'], 'http://a.test/ü', /is not a valid URI/, 'in ASCII'],
  [
    ['spiffe://h.com/web/*'],
    'spiffe://h.com/web/../admin',
    /is not a valid URI/,
    'no climbing out',
  ],
  [
    ['spiffe://h.com/web/*'],
    'spiffe://h.com/web/%2e%2E/a',
    /is not a valid URI/,
    'nor in disguise',
  ],
];
for (const [allowed, uri, verdict, why] of uris) {
  test(`URI ${uri} where ${JSON.stringify(allowed)} is allowed: ${why}`, () => {
    const said = judge({ allowed_uri_sans: allowed }, { uri: [uri] });
    if (verdict === 'ok') assert.equal(said, 'ok');
    else assert.match(said, verdict);
  });
}

const UPN = '1.3.6.1.4.1.311.20.2.3';
const others: [allowed: string[], oid: string, value: string, verdict: string, why: string][] = [
  [[], UPN, 'a', `other SAN OID ${UPN} not allowed by this role`, 'none'],
  [['*'], UPN, 'a', 'ok', 'all'],
  [[`${UPN};UTF8:devops@*`], UPN, 'devops@a.test', 'ok', 'by glob'],
  [
    [`${UPN};UTF8:devops@*`],
    UPN,
    'dev@a.test',
    `other SAN dev@a.test not allowed for OID ${UPN} by this role`,
    'another value',
  ],
  [
    [`${UPN};UTF8:*`],
    '1.3.6.1.4.1.311.20.2.4',
    'a',
    'other SAN OID 1.3.6.1.4.1.311.20.2.4 not allowed by this role',
    'another OID',
  ],
];
for (const [allowed, oid, value, verdict, why] of others) {
  test(`other SAN ${oid}, ${value}, where ${JSON.stringify(allowed)} is allowed: ${why}`, () => {
    const rules = { allowed_other_sans: allowed };
    assert.equal(judge(rules, { other: [{ oid, value }] }), verdict);
  });
}

test('subject serial numbers: exactly or by glob as listed, none without a list', () => {
  const rules: Rules = { allowed_serial_numbers: ['foo*', 'B2', ''] };
  assert.equal(judge(rules, { serial_number: 'foobar' }), 'ok');
  assert.equal(judge(rules, { serial_number: 'B2' }), 'ok');
  assert.equal(judge(rules, { serial_number: 'b2' }), 'serial_number b2 not allowed by this role');
  assert.notEqual(judge({}, { serial_number: 'x' }), 'ok');
  assert.equal(judge({}, { serial_number: '' }), 'ok');
});

test('user ids: listed in any letter case or by glob, none without a list', () => {
  const rules: Rules = { allowed_user_ids: ['Ann', 'svc-*'] };
  assert.equal(judge(rules, { user_ids: ['ANN', 'svc-1'] }), 'ok');
  assert.equal(
    judge(rules, { user_ids: ['ann', 'bob'] }),
    'user_id bob is not allowed by this role',
  );
  assert.notEqual(judge(rules, { user_ids: ['SVC-1'] }), 'ok');
  assert.notEqual(judge({}, { user_ids: ['ann'] }), 'ok');
  assert.equal(judge({ allowed_user_ids: ['*'] }, { user_ids: ['x'] }), 'ok');
});

function identityWith(metadata: Record<string, string>): IdentityFacts {
  return { entity: { id: 'e', name: 'ann', metadata, aliases: {} }, groups: [] };
}

const templated: Rules = {
  ...sub,
  ...bare,
  ...glob,
  allowed_domains: ['{{identity.entity.metadata.dom}}', 'fixed.test'],
  allowed_domains_template: true,
};

test('a templated domain is filled in from the entity, and fixed ones stay', () => {
  const identity = identityWith({ dom: 'x.com' });
  assert.equal(judge(templated, { common_name: 'a.x.com' }, identity), 'ok');
  assert.notEqual(judge(templated, { common_name: 'a.y.com' }, identity), 'ok');
  assert.equal(judge(templated, { common_name: 'a.fixed.test' }, identity), 'ok');
});

test('without an entity or without an answer a templated domain matches nothing', () => {
  assert.notEqual(judge(templated, { common_name: 'a.x.com' }), 'ok');
  assert.notEqual(judge(templated, { common_name: 'a.x.com' }, identityWith({})), 'ok');
  assert.notEqual(judge(templated, { common_name: 'evil.' }, identityWith({ dom: '' })), 'ok');
  assert.equal(judge(templated, { common_name: 'a.fixed.test' }), 'ok');
  const literal = '{{identity.entity.metadata.dom}}';
  assert.notEqual(judge({ ...templated, ...noHostnames }, { common_name: literal }), 'ok');
});

test('a template is plain text where templates are off', () => {
  const rules: Rules = { ...templated, allowed_domains_template: false };
  assert.notEqual(judge(rules, { common_name: 'a.x.com' }, identityWith({ dom: 'x.com' })), 'ok');
});

test('a star in a value of the identity stands for any text where the role says so, and nowhere else', () => {
  const globs = { ...templated, allow_glob_domains: true, allow_globs_in_identity_templates: true };
  const wild = identityWith({ dom: '*.x.com' });
  const asked = { common_name: 'a.b.x.com' };
  assert.equal(judge(globs, asked, wild), 'ok');
  assert.notEqual(judge(globs, { common_name: 'a.y.com' }, wild), 'ok');
  for (const less of [
    { allow_globs_in_identity_templates: false },
    { allow_glob_domains: false },
  ]) {
    assert.notEqual(judge({ ...globs, ...less }, asked, wild), 'ok');
  }
  const uris = {
    ...globs,
    allowed_uri_sans: ['spiffe://h.com/{{identity.entity.metadata.dom}}'],
    allowed_uri_sans_template: true,
  };
  const uri = { uri: ['spiffe://h.com/red/a'] };
  assert.equal(judge(uris, uri, identityWith({ dom: 'r*' })), 'ok');
  assert.notEqual(judge(uris, uri, identityWith({ dom: 'b*' })), 'ok');
  assert.notEqual(judge(uris, uri, identityWith({ dom: 'x/../*' })), 'ok');
});

test('a value from the identity never acts as a pattern, the role own star does', () => {
  assert.notEqual(judge(templated, { common_name: 'evil.test' }, identityWith({ dom: '*' })), 'ok');
  const wild = identityWith({ dom: '*.x.com' });
  assert.notEqual(judge(templated, { common_name: '*.x.com' }, wild), 'ok');
  const rules: Rules = {
    allowed_uri_sans: ['spiffe://h.com/{{identity.entity.metadata.dom}}/*'],
    allowed_uri_sans_template: true,
  };
  const identity = identityWith({ dom: 'red' });
  assert.equal(judge(rules, { uri: ['spiffe://h.com/red/a'] }, identity), 'ok');
  assert.notEqual(judge(rules, { uri: ['spiffe://h.com/blue/a'] }, identity), 'ok');
  const climbing = identityWith({ dom: '..' });
  assert.notEqual(judge(rules, { uri: ['spiffe://h.com/../a'] }, climbing), 'ok');
});

const URI_AROUND = 'spiffe://h.com/{{identity.entity.metadata.dom}}/x';
const HOST_AROUND = 'https://{{identity.entity.metadata.dom}}.h.com/';
const QUERY_AROUND = 'https://h.com/?u={{identity.entity.metadata.dom}}';
const URI_ALONE = '{{identity.entity.metadata.dom}}';
const uriValues: [entry: string, value: string, uri: string, allowed: boolean][] = [
  [URI_AROUND, 'red', 'spiffe://h.com/red/x', true],
  [URI_AROUND, 'red.a-b_c~d', 'spiffe://h.com/red.a-b_c~d/x', true],
  [URI_AROUND, 'red/x', 'spiffe://h.com/red/x/x', false],
  [URI_AROUND, 'red?', 'spiffe://h.com/red?/x', false],
  [URI_AROUND, 'red#', 'spiffe://h.com/red#/x', false],
  [URI_AROUND, 'u@h', 'spiffe://h.com/u@h/x', false],
  [URI_AROUND, 'a:b', 'spiffe://h.com/a:b/x', false],
  [URI_AROUND, '%2f', 'spiffe://h.com/%2f/x', false],
  [URI_AROUND, 'a\\b', 'spiffe://h.com/a\\b/x', false],
  [URI_AROUND, 'a b', 'spiffe://h.com/a b/x', false],
  [URI_AROUND, '[a]', 'spiffe://h.com/[a]/x', false],
  [HOST_AROUND, 'red', 'https://red.h.com/', true],
  [HOST_AROUND, 'a.red', 'https://a.red.h.com/', true],
  [HOST_AROUND, 'evil.org/', 'https://evil.org/.h.com/', false],
  [HOST_AROUND, 'evil.org/x?', 'https://evil.org/x?.h.com/', false],
  [HOST_AROUND, 'evil.org#', 'https://evil.org#.h.com/', false],
  [HOST_AROUND, 'u@evil.org', 'https://u@evil.org.h.com/', false],
  [HOST_AROUND, 'evil.org:1', 'https://evil.org:1.h.com/', false],
  [HOST_AROUND, 'evil.org;', 'https://evil.org;.h.com/', false],
  [HOST_AROUND, 'evil.org\\', 'https://evil.org\\.h.com/', false],
  [QUERY_AROUND, 'red', 'https://h.com/?u=red', true],
  [QUERY_AROUND, 'red&v=1', 'https://h.com/?u=red&v=1', false],
  [URI_ALONE, 'spiffe://h.com/red', 'spiffe://h.com/red', true],
  [URI_ALONE, 'spiffe://h.com/*', 'spiffe://h.com/a', false],
];
for (const [entry, value, uri, allowed] of uriValues) {
  test(`the value ${JSON.stringify(value)} ${allowed ? 'may' : 'may not'} stand in ${entry}`, () => {
    const rules: Rules = { allowed_uri_sans: [entry], allowed_uri_sans_template: true };
    const said = judge(rules, { uri: [uri] }, identityWith({ dom: value }));
    assert.equal(said === 'ok', allowed, said);
  });
}

const DOMAIN_AROUND = '{{identity.entity.metadata.dom}}.h.com';
const domainValues: [entry: string, value: string, name: string, allowed: boolean][] = [
  [DOMAIN_AROUND, 'red', 'red.h.com', true],
  [DOMAIN_AROUND, 'a.red', 'a.red.h.com', true],
  [DOMAIN_AROUND, 'u@red', 'u@red.h.com', false],
  [DOMAIN_AROUND, 'a/red', 'a/red.h.com', false],
  [DOMAIN_AROUND, 'a red', 'a red.h.com', false],
  [DOMAIN_AROUND, '*', '*.h.com', false],
  [URI_ALONE, 'h.com', 'h.com', true],
  [URI_ALONE, 'ann@h.com', 'ann@h.com', true],
  [URI_ALONE, 'ann@h.com@evil.org', 'ann@h.com@evil.org', false],
  [URI_ALONE, '*.h.com', 'a.h.com', false],
];
for (const [entry, value, name, allowed] of domainValues) {
  test(`the value ${JSON.stringify(value)} ${allowed ? 'may' : 'may not'} stand in the domain ${entry}`, () => {
    const rules: Rules = {
      ...bare,
      ...noHostnames,
      allowed_domains: [entry],
      allowed_domains_template: true,
    };
    const said = judge(rules, { common_name: name }, identityWith({ dom: value }));
    assert.equal(said === 'ok', allowed, said);
  });
}

test('names of ten thousand characters are refused without delay', async () => {
  const rules: Rules = { ...glob, allowed_domains: [`${'a*'.repeat(2000)}b`] };
  await spendsAtMost(500, () => {
    assert.notEqual(judge({ ...rules, ...noHostnames }, { common_name: 'a'.repeat(10_000) }), 'ok');
    assert.notEqual(judge(any, { common_name: `${'a.'.repeat(5000)}a` }), 'ok');
    assert.notEqual(judge(any, { common_name: `ü${'ü'.repeat(10_000)}` }), 'ok');
  });
});

const many = (count: number, make: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => make(index));

test('thousands of names under thousands of domains are judged in time in proportion to both', async () => {
  const names = many(4900, (i) => `n${i}.d9999.example.com`);
  for (const rules of [
    { ...sub, allowed_domains: many(10_000, (i) => `d${i}.example.com`) },
    { ...glob, allowed_domains: many(10_000, (i) => `*.d${i}.example.com`) },
    { ...glob, allowed_domains: many(10_000, (i) => `n*.d${i}.example.com`) },
  ]) {
    await spendsAtMost(500, () => assert.equal(judge({ ...rules }, { dns: names }), 'ok'));
  }
});

test('a name of many labels under a long domain is judged without delay', async () => {
  const rules = { ...sub, ...noHostnames, allowed_domains: ['a.'.repeat(4000)] };
  await spendsAtMost(500, () => {
    assert.notEqual(judge({ ...rules }, { common_name: `${'b.'.repeat(4000)}b` }), 'ok');
  });
});

test('a template that grows beyond what a list may hold matches nothing', () => {
  const entry = (times: number) => `${'{{identity.entity.metadata.dom}}'.repeat(times)}.test`;
  const dom = 'a'.repeat(100);
  const rules = (times: number): Rules => ({
    ...bare,
    ...noHostnames,
    allowed_domains: [entry(times)],
    allowed_domains_template: true,
  });
  for (const [times, allowed] of [
    [81, true],
    [82, false],
  ] as const) {
    const name = `${dom.repeat(times)}.test`;
    const said = judge(rules(times), { common_name: name }, identityWith({ dom }));
    assert.equal(said === 'ok', allowed, String(times));
  }
});
