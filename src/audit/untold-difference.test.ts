// Whatever a record leaves out has its hash: of two requests that differ no more than in that, the records differ.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concealDone, concealSecrets } from './conceal.ts';

const hash = (secret: string): string => `#${Buffer.from(secret).toString('hex')}#`;
const PEM = (letters: string, end = ''): string =>
  `-----BEGIN PRIVATE KEY-----\n${letters.repeat(24)}\n-----END ${end}PRIVATE KEY-----\n`;

/** Two of each form; a name that is in neither record. */
const FORMS: [form: string, one: string, other: string, left: string][] = [
  ['hvs.', `hvs.${'a'.repeat(20)}`, `hvs.${'b'.repeat(20)}`, 'hvs.'],
  ['hvb.', `hvb.${'a-_'.repeat(10)}`, `hvb.${'b-_'.repeat(10)}`, 'hvb.'],
  ['hvr.', `hvr.${'a'.repeat(24)}`, `hvr.${'a'.repeat(25)}`, 'hvr.'],
  ['of old', `s.${'a'.repeat(24)}`, `s.${'b'.repeat(24)}`, 's.'],
  ['of old, of other kinds', `b.${'a'.repeat(24)}`, `r.${'a'.repeat(24)}`, 'a'.repeat(24)],
  ['r_1', `r_1${'A'.repeat(60)}`, `r_1${'B'.repeat(60)}`, 'r_1'],
  ['letters in a row', 'A'.repeat(200), 'A'.repeat(201), 'A'.repeat(200)],
  ['of the broker', 'at_1234567890_s1adminadmin', 'at_1234567890_s1readerreader', '_s1'],
  [
    'names like those of the broker',
    'heartbeat_collectors_s1administrators',
    'heartbeat_collectors_s1readonlyone',
    '_s1',
  ],
  ['of the broker, by their ids', 'at_1234567890_s1abcdefgh', 'at_1234567891_s1abcdefgh', '_s1'],
  ['private keys', PEM('a'), PEM('b'), 'a'.repeat(24)],
  ['ends of private keys', PEM('a'), PEM('a', 'BOSS '), 'a'.repeat(24)],
  [
    'items of private keys',
    [PEM('').trim().split('\n')[0], 'a'.repeat(64), 'b'.repeat(24)].join(),
    [PEM('').trim().split('\n')[0], 'a'.repeat(64), 'c'.repeat(24)].join(),
    'a'.repeat(64),
  ],
];

/** These are told in changes. */
const IN_REFUSED: typeof FORMS = [
  ['users in URLs', 'https://ann@h/', 'https://bob@h/', '//ann'],
  ['passwords in URLs', 'ssh://ann:a@h/', 'ssh://ann:b@h/', ':a'],
  ['tokens in URLs', 'https://a:b@h/', 'https://a:c@h/', 'a:b'],
];

const PLACES: [place: string, record: (text: string) => object][] = [
  ['a path', (text) => ({ request: { path: `auth/up/users/${text}` } })],
  ['the end of a path', (text) => ({ request: { path: text } })],
  ['a field', (text) => ({ request: { data: { policies: text } } })],
  ['a list', (text) => ({ request: { data: { policies: ['x', text, 'y'] } } })],
  ['an item beside the other', (text) => ({ data: [`at_1234567890_s1xxxxxxxx`, text] })],
  ['a list in a list', (text) => ({ request: { data: { a: [[text]] } } })],
  ['a key of a map', (text) => ({ request: { data: { metadata: { [text]: 'x' } } } })],
  ['a value of a map', (text) => ({ request: { data: { metadata: { x: text } } } })],
  ['a policy', (text) => ({ data: { policy: `path "${text}" { capabilities = ["read"] }` } })],
  ['JSON', (text) => ({ data: { policy: JSON.stringify({ path: { [text]: {} } }) } })],
  ['an error', (text) => ({ response: { status: 'refused', error: `unknown role "${text}"` } })],
  ['a name of a token', (text) => ({ auth: { display_name: text, policies: [text] } })],
];

const KINDS: [kind: string, conceal: typeof concealDone, forms: typeof FORMS][] = [
  ['a change', concealDone, FORMS],
  ['a refusal', concealSecrets, [...FORMS, ...IN_REFUSED]],
];

for (const [kind, conceal, forms] of KINDS) {
  for (const [form, one, other, left] of forms) {
    test(`two records of ${kind} differ where only what they conceal does: ${form}`, () => {
      for (const [place, record] of PLACES) {
        const [told, told_other] = [one, other].map((text) =>
          conceal(JSON.stringify(record(text)), hash),
        );
        assert.notEqual(told, told_other, place);
        // Of a form of old only what begins a text or a segment counts.
        if (!/^[sbr]\./.test(one)) assert.ok(!told?.includes(left), `${place}: ${told}`);
      }
    });
  }
}

const blanks = [PEM('a'), PEM('a').replace('\na', '\n a')].map((text) => JSON.stringify(text));

test('the record of a change tells blanks in a private key apart, that of a refusal has one hash for the key', () => {
  const told = (conceal: typeof concealDone) => new Set(blanks.map((json) => conceal(json, hash)));
  assert.equal(told(concealDone).size, 2);
  assert.equal(told(concealSecrets).size, 1);
});

const addresses = ['ann@h', 'bob@h', 'a,b@h', 'h?ann', 'h?bob', 'h#bob', 'ann@h?x', 'ann@h?y', 'h'];

test('addresses that differ have records of refusals that differ', () => {
  const told = addresses.map((address) => concealSecrets(JSON.stringify({ address }), hash));
  assert.equal(new Set(told).size, addresses.length);
  for (const record of told) assert.doesNotMatch(record, /ann|bob/);
});

const MANY = Array.from({ length: 1024 }, (_, at) => `hvs.${String(at).padStart(20, '0')}`);

test('what has no hash of its own any more differs by the one of all that are beyond', () => {
  const last = (...texts: string[]) =>
    concealDone(JSON.stringify([...MANY, ...texts]), hash).slice(-600);
  const [one = '', other = ''] = ['at_1234567890_s1adminadmin', 'at_1234567890_s1readerreader'];
  const told = [last(one, other), last(other, one), last(one, one), last(other, other)];
  assert.equal(new Set(told).size, told.length);
});

test('what is beyond differs also where commas stand at other places', () => {
  const users = (...texts: string[]) =>
    concealSecrets(JSON.stringify({ all: MANY, address: texts }), hash);
  assert.notEqual(users('a,b@h', 'c@h'), users('a@h', 'b,c@h'));
  assert.notEqual(users('a\\,b@h', 'c@h'), users('a\\@h', 'b,c@h'));
});
