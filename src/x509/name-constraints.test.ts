import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextConstructed, contextPrimitive, integer, sequence } from './der.ts';
import { type NameConstraints, nameConstraints, parseNameConstraints } from './name-constraints.ts';

const refused = { kind: 'invalid' };

test('every kind of subtree reads back on its side', () => {
  const wanted: NameConstraints = {
    permitted_dns_domains: ['a.test', '.b.test'],
    excluded_dns_domains: ['x.a.test'],
    permitted_ip_ranges: ['10.0.0.0/8', '2001:db8::/32'],
    excluded_ip_ranges: ['10.1.0.0/16'],
    permitted_email_addresses: ['me@a.test', 'a.test'],
    excluded_email_addresses: ['.b.test'],
    permitted_uri_domains: ['a.test'],
    excluded_uri_domains: ['.x.test'],
  };
  const extension = nameConstraints(wanted);
  assert.equal(extension?.critical, true);
  assert.deepEqual(extension && parseNameConstraints(extension.value), {
    ...wanted,
    other_kinds: [],
  });
});

test('one side alone is written alone, none not at all', () => {
  const extension = nameConstraints({ excluded_dns_domains: ['a'] });
  assert.equal(extension && Buffer.from(extension.value).toString('hex'), '3007a1053003820161');
  assert.equal(nameConstraints({ permitted_dns_domains: [], excluded_ip_ranges: [] }), undefined);
  assert.equal(nameConstraints({}), undefined);
});

test('a range that is none and text beyond ASCII are refused by the name of the field', () => {
  assert.throws(() => nameConstraints({ permitted_ip_ranges: ['10.0.0.1'] }), {
    ...refused,
    message: /^permitted_ip_ranges: /,
  });
  assert.throws(() => nameConstraints({ excluded_uri_domains: ['é'] }), {
    ...refused,
    message: /^excluded_uri_domains: /,
  });
});

test('subtrees of other kinds are noticed', () => {
  const der = sequence(contextConstructed(0, sequence(contextConstructed(4, sequence()))));
  assert.deepEqual(parseNameConstraints(der).other_kinds, [0xa4]);
});

const malformed: [what: string, der: Uint8Array][] = [
  [
    'a mask that is no prefix',
    sequence(
      contextConstructed(
        0,
        sequence(contextPrimitive(7, Uint8Array.of(10, 0, 0, 0, 255, 0, 255, 0))),
      ),
    ),
  ],
  [
    'an address without a mask',
    sequence(contextConstructed(0, sequence(contextPrimitive(7, Uint8Array.of(10, 0, 0, 0))))),
  ],
  [
    'a minimum',
    sequence(
      contextConstructed(
        0,
        sequence(contextPrimitive(2, Buffer.from('a')), contextPrimitive(0, Uint8Array.of(1))),
      ),
    ),
  ],
  ['a stray field', sequence(integer(1))],
  [
    'both sides in the wrong order',
    sequence(
      contextConstructed(1, sequence(contextPrimitive(2, Buffer.from('a')))),
      contextConstructed(0, sequence(contextPrimitive(2, Buffer.from('a')))),
    ),
  ],
];
for (const [what, der] of malformed) {
  test(`name constraints with ${what} are not read`, () => {
    assert.throws(() => parseNameConstraints(der), refused);
  });
}

const subtrees: [field: keyof NameConstraints, text: string, accepted: boolean][] = [
  ['permitted_dns_domains', 'example.com', true],
  ['permitted_dns_domains', '.example.com', true],
  ['permitted_dns_domains', 'com', true],
  ['permitted_dns_domains', '_srv.example.com', true],
  ['permitted_dns_domains', '*.example.com', false],
  ['permitted_dns_domains', 'https://example.com', false],
  ['permitted_dns_domains', 'a b.example.com', false],
  ['permitted_dns_domains', 'ann@example.com', false],
  ['permitted_dns_domains', 'example.com.', false],
  ['permitted_dns_domains', '..example.com', false],
  ['permitted_dns_domains', '.', false],
  ['permitted_dns_domains', '', false],
  ['excluded_dns_domains', 'a..com', false],
  ['excluded_dns_domains', 'example.com,', false],
  ['permitted_ip_ranges', '10.0.0.0/8', true],
  ['permitted_ip_ranges', '10.0.0.1', false],
  ['excluded_ip_ranges', '10.0.0.0/33', false],
  ['permitted_email_addresses', 'ann@example.com', true],
  ['permitted_email_addresses', 'example.com', true],
  ['permitted_email_addresses', '.example.com', true],
  ['permitted_email_addresses', '@example.com', false],
  ['permitted_email_addresses', 'ann@.example.com', false],
  ['excluded_email_addresses', '*@example.com.', false],
  ['permitted_uri_domains', 'example.com', true],
  ['permitted_uri_domains', '.example.com', true],
  ['permitted_uri_domains', 'https://example.com', false],
  ['excluded_uri_domains', 'example.com/x', false],
  ['excluded_uri_domains', 'example.com:443', false],
];
for (const [field, text, accepted] of subtrees) {
  test(`${field} ${accepted ? 'takes' : 'refuses'} ${JSON.stringify(text)}`, () => {
    if (accepted) assert.ok(nameConstraints({ [field]: [text] }));
    else {
      const message = new RegExp(`^${field}: `);
      assert.throws(() => nameConstraints({ [field]: [text] }), { kind: 'invalid', message });
    }
  });
}
