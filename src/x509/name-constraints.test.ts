import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import {
  DIRECTORY_NAME_CASES,
  directoryAltNames,
  directoryConstraints,
  directoryName,
} from '../../test/support/directory-names.ts';
import { contextConstructed, contextPrimitive, integer, sequence } from './der.ts';
import { parseSubjectAltName } from './general-names.ts';
import { type NameConstraints, nameConstraints, parseNameConstraints } from './name-constraints.ts';
import { judgeNameConstraints } from './subtrees.ts';

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
    permitted_directory_names: [],
    excluded_directory_names: [],
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
  const der = sequence(contextConstructed(0, sequence(contextConstructed(3, sequence()))));
  assert.deepEqual(parseNameConstraints(der).other_kinds, [0xa3]);
});

test('directory names are kept on their side, part by part', () => {
  const { value } = directoryConstraints(
    [directoryName([['C', 'CH']], [['O', 'Acme']]), directoryName()],
    [directoryName([['bits', 'a']])],
  );
  const read = parseNameConstraints(value);
  assert.deepEqual(read.permitted_directory_names, [
    [[{ oid: '2.5.4.6', tag: 0x0c, value: 'CH' }], [{ oid: '2.5.4.10', tag: 0x0c, value: 'Acme' }]],
    [],
  ]);
  assert.deepEqual(read.excluded_directory_names, [
    [[{ oid: '2.5.4.45', tag: 0x03, value: '#03020061' }]],
  ]);
  assert.deepEqual(read.other_kinds, []);
});

const without = { dns: [], email: [], ip: [], uri: [] };
/** As subjects and as alternative names. */
const placesOf = (name: Uint8Array) => [
  { ...without, subject: name },
  { ...without, subject: directoryName(), unknown: altNamesOf([name]) },
];
const altNamesOf = (names: Uint8Array[]): Uint8Array[] =>
  parseSubjectAltName(directoryAltNames(names).value).unknown;

for (const { what, permitted = [], excluded = [], named, allowed } of DIRECTORY_NAME_CASES) {
  test(`of directory names ${what} is ${allowed ? 'let pass' : 'stopped'}`, () => {
    const constraints = parseNameConstraints(directoryConstraints(permitted, excluded).value);
    for (const names of placesOf(named)) {
      assert.equal(judgeNameConstraints(constraints, names).allowed, allowed);
    }
  });
}

test('an empty subject is not judged, an empty alternative name is', () => {
  const acme = directoryName([['O', 'Acme']]);
  const { value } = directoryConstraints([acme]);
  const constraints = parseNameConstraints(value);
  const [subject, alternative] = placesOf(directoryName());
  assert.ok(subject && alternative);
  assert.deepEqual(judgeNameConstraints(constraints, subject), { allowed: true });
  assert.equal(judgeNameConstraints(constraints, alternative).allowed, false);
  const [first] = altNamesOf([acme]);
  const [second] = altNamesOf([directoryName([['O', 'Else']])]);
  assert.ok(first && second);
  const both = { ...without, subject: acme, unknown: [first, second] };
  assert.deepEqual(judgeNameConstraints(constraints, both), {
    allowed: false,
    because: 'directory name "O=Else" is not permitted by any constraint',
  });
});

test('a refusal of a subject names it, and what it is excluded by, both cut short', () => {
  const long = (end: string) =>
    directoryName([['O', 'Acme']], [['OU', `${'x'.repeat(500)}${end}`]]);
  const { value } = directoryConstraints([], [directoryName([['O', 'ACME']])]);
  const verdict = judgeNameConstraints(parseNameConstraints(value), {
    ...without,
    subject: long('y'),
  });
  assert.deepEqual(verdict, {
    allowed: false,
    because: `subject "OU=${'x'.repeat(253)}" is excluded by constraint "O=ACME"`,
  });
});

test('what is no Name among directory names is not let pass where they are constrained, and elsewhere is', () => {
  const unknown = [Uint8Array.of(0xa4, 2, 0x0c, 0), Uint8Array.of(0xa4, 0)];
  const directory = parseNameConstraints(directoryConstraints([directoryName()]).value);
  const dns = parseNameConstraints(
    nameConstraints({ permitted_dns_domains: ['a'] })?.value ?? sequence(),
  );
  for (const one of unknown) {
    assert.equal(judgeNameConstraints(directory, { ...without, unknown: [one] }).allowed, false);
    assert.equal(judgeNameConstraints(dns, { ...without, unknown: [one] }).allowed, true);
  }
});

test('thousands of long names under thousands of long subtrees are judged without delay', async () => {
  const parts = (count: number, end: string) =>
    directoryName(
      ...Array.from({ length: count }, (_, at) => [['OU', `${at}`] as ['OU', string]]),
      [['CN', end]],
    );
  const many = (side: string) => Array.from({ length: 1000 }, (_, at) => parts(30, `${side}${at}`));
  const { value } = directoryConstraints([...many('p'), parts(30, '')], many('x'));
  // Marks in the wrong order, which would be put into the right one pair by pair.
  const marks = '\u0301'.repeat(30_000) + '\u0316'.repeat(30_000);
  const subject = directoryName(
    [['O', marks]],
    ...Array.from({ length: 250 }, () => [['OU', 'x'] as ['OU', string]]),
  );
  const altNames = altNamesOf(many('p'));
  // Some 500 ms; each with each it would be minutes.
  await spendsAtMost(1500, () => {
    // As they come with a request, known from no time before.
    const names = { ...without, subject: Uint8Array.from(subject) };
    const unknown = altNames.map((name) => Uint8Array.from(name));
    const constraints = parseNameConstraints(value);
    for (let common_name = 0; common_name < 100; common_name += 1) {
      assert.equal(judgeNameConstraints(constraints, { ...without, unknown }).allowed, true);
      assert.equal(judgeNameConstraints(constraints, names).allowed, false);
    }
  });
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
    'a directory name that is none',
    sequence(contextConstructed(1, sequence(contextConstructed(4, integer(1))))),
  ],
  [
    'two directory names in one',
    sequence(contextConstructed(1, sequence(contextConstructed(4, sequence(), sequence())))),
  ],
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
