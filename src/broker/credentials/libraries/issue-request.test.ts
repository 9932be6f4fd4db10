import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { encodeSshPublicKey } from '../../../ssh/public-key.ts';
import {
  fillBody,
  fillIssueFields,
  fillPath,
  planSshRequest,
  UNKNOWN_FACTS,
  UnfitValue,
} from './issue-request.ts';

const named = (name: string) => ({ 'User.Name': name });

const inPath: [name: string, path: string | undefined][] = [
  ['ada', 'secret/ada'],
  ['ada l', 'secret/ada%20l'],
  ['a?b#c%', 'secret/a%3Fb%23c%25'],
  ['a/b', undefined],
  ['a\\b', undefined],
  ['..', undefined],
  ['.', undefined],
  ['', undefined],
];

for (const [name, path] of inPath) {
  test(`the name ${JSON.stringify(name)} ${path ? 'is one segment of' : 'cannot stand in'} a path`, () => {
    const fill = (): string => fillPath('secret/{{.User.Name}}', named(name));
    if (path === undefined) assert.throws(fill, UnfitValue);
    else assert.equal(fill(), path);
  });
}

test('no name ends the text of JSON that it stands in', () => {
  const body = fillBody('{"cn":"{{.User.Name}}","ttl":"1h"}', named('a","ttl":"9h\\'));
  assert.deepEqual(JSON.parse(body), { cn: 'a","ttl":"9h\\', ttl: '1h' });
});

const bodies: [text: string, value: string, body: unknown][] = [
  ['{"ttl":{{.User.Name}}}', '7', { ttl: 7 }],
  ['{"ttl":{{.User.Name}}}', '-1.5', { ttl: -1.5 }],
  ['{"ttl":{{.User.Name}}}', 'true', { ttl: true }],
  ['{"ttl":{{.User.Name}}}', '7,"admin":true', undefined],
  ['{"ttl":{{.User.Name}}}', '"7"', undefined],
  ['{"ttl":{{.User.Name}}}', '', undefined],
  ['{"a":"\\"{{.User.Name}}"}', 'x"', { a: '"x"' }],
  ['{"a":"\\{{.User.Name}}"}', '","b":"', undefined],
  ['{"a":"\\{{.User.Name}}"}', 'n', undefined],
  ['{"a":"\\\\{{.User.Name}}"}', '","b":"', { a: '\\","b":"' }],
  ['{"a":"{{.User.Name}}","b":"{{.User.Name}}"}', '"\\', { a: '"\\', b: '"\\' }],
];
for (const [text, value, body] of bodies) {
  test(`${JSON.stringify(value)} ${body ? 'stays what it is' : 'cannot stand'} in the body ${text}`, () => {
    const filled = () => fillBody(text, named(value));
    if (body === undefined) assert.throws(filled, UnfitValue);
    else assert.deepEqual(JSON.parse(filled()), body);
  });
}

const HOSTILE: readonly string[] = [
  '*',
  '*.evil',
  'x@y',
  'a/b',
  'a?b',
  'a#b',
  'a:1',
  'a%2fb',
  'a\\b',
  'a b',
  'a,b',
  'a\nb',
  'a"b',
  "a'b",
  'a;b',
  'a`b`',
  '$(b)',
  'a|b',
  'a&b=c',
  '[::1]',
  '..',
  '.',
  'a..b',
  '.a',
  'a.',
  '-rf',
  'a\u200bb',
  'a。b',
  '⒈',
  '\u202ea',
];

/** Each field with a value in its midst, what is read out of it, and what it is for `ada`. */
const surrounded: [
  field: string,
  read: (value: string) => unknown,
  ada: unknown,
  harmless: readonly string[],
][] = [
  ['common_name', (value) => issue({ common_name: `${NAME}.db.test` }, value).common_name, 'ada.db.test', ['-rf']],
  ['alt_names', (value) => issue({ alt_names: `a.test, x-${NAME}.db.test,b.test` }, value).alt_names, 'a.test, x-ada.db.test,b.test', ['-rf']],
  ['uri_sans (host)', (value) => new URL(issue({ uri_sans: `https://${NAME}.db.test/p` }, value).uri_sans ?? '').href, 'https://ada.db.test/p', ['-rf']],
  ['uri_sans (path)', (value) => issue({ uri_sans: `spiffe://td/ns/${NAME}/sa` }, value).uri_sans, 'spiffe://td/ns/ada/sa', ['-rf', "a'b", 'a;b', '$(b)', 'a&b=c', 'a..b', '.a', 'a.']],
  ['uri_sans (query)', (value) => issue({ uri_sans: `https://td/?u=${NAME}&v=1` }, value).uri_sans, 'https://td/?u=ada&v=1', ['-rf', "a'b", '$(b)', 'a..b', '.a', 'a.']],
  ['username', (value) => ssh({ username: `u-${NAME}` }, value).username, 'u-ada', ['x@y', 'a:1', 'a..b', '.a', 'a.']],
  ['additional_valid_principals', (value) => ssh({ additional_valid_principals: [NAME] }, value).body.valid_principals, 'root,ada', ['x@y', 'a:1', 'a..b', '.a', 'a.']],
  ['key_id', (value) => ssh({ key_id: `gh ${NAME} end` }, value).body.key_id, 'gh ada end', ['x@y', 'a:1', 'a..b', '.a', 'a.']],
  ['critical_options', (value) => ssh({ critical_options: { 'force-command': `run ${NAME} now` } }, value).body.critical_options, { 'force-command': 'run ada now' }, ['x@y', 'a:1', 'a..b', '.a', 'a.']],
  ['extensions', (value) => ssh({ extensions: { e: `run ${NAME} now` } }, value).body.extensions, { e: 'run ada now' }, ['x@y', 'a:1', 'a..b', '.a', 'a.']],
]; // biome-ignore format: one table

const NAME = '{{.User.Name}}';
const issue = (attributes: Record<string, string>, value: string) =>
  fillIssueFields(attributes, named(value));
const ssh = (attributes: Record<string, unknown>, value: string) =>
  planSshRequest({ path: 'ssh/issue/r', username: 'root', ...attributes }, named(value));

for (const [field, read, ada, harmless] of surrounded) {
  test(`no value changes what stands around it in ${field}`, () => {
    assert.deepEqual(read('ada'), ada);
    for (const value of HOSTILE) {
      if (harmless.includes(value)) {
        const there = JSON.stringify(ada).replace('ada', () => value);
        assert.deepEqual(JSON.stringify(read(value)), there, value);
      } else assert.throws(() => read(value), UnfitValue, value);
    }
  });
}

const alone: [field: string, value: string, taken: boolean][] = [
  ['common_name', 'ann@a.test', true],
  ['common_name', 'Ann Öl', true],
  ['common_name', 'ann.a.test', true],
  ['common_name', 'bücher.test', true],
  ['common_name', '*.a.test', false],
  ['common_name', 'a/b', false],
  ['common_name', 'a@b@c', false],
  ['alt_names', 'ann@a.test', true],
  ['alt_names', 'Ann Öl', false],
  ['alt_names', 'a.test,b.test', false],
  ['alt_names', '*', false],
  ['uri_sans', 'spiffe://td/ann', true],
  ['uri_sans', 'spiffe://td/a,b', false],
  ['uri_sans', 'spiffe://td/*', false],
  ['uri_sans', 'a b', false],
];
for (const [field, value, taken] of alone) {
  test(`all of ${field} ${taken ? 'may' : 'may not'} be the value ${JSON.stringify(value)}`, () => {
    const attributes = { common_name: 'cn.test', [field]: NAME };
    const filled = () => Object.entries(issue(attributes, value));
    if (taken) assert.ok(filled().some(([name, text]) => name === field && text === value));
    else assert.throws(filled, UnfitValue);
  });
}

test('two values side by side, and one of several names, are parts and wholes of their own', () => {
  const both = fillIssueFields({ common_name: '{{.User.Name}}{{.User.Email}}' }, named('a'));
  assert.equal(both.common_name, 'a');
  const mixed = { 'User.Name': 'a', 'User.Email': 'b@c' };
  assert.throws(
    () => fillIssueFields({ common_name: '{{.User.Name}}{{.User.Email}}' }, mixed),
    UnfitValue,
  );
  const list = fillIssueFields({ alt_names: 'x.test, {{.User.Email}} ,y.test' }, mixed);
  assert.equal(list.alt_names, 'x.test, b@c ,y.test');
  assert.throws(() => fillIssueFields({ alt_names: 'x.{{.User.Email}}' }, mixed), UnfitValue);
});

test('a value that somebody lacks is left out of a name, and what is not known yet is shown as it is', () => {
  assert.equal(issue({ common_name: `admin${NAME}.test` }, '').common_name, 'admin.test');
  assert.throws(() => ssh({ username: NAME }, ''), UnfitValue);
  const unknown = fillIssueFields({ common_name: `${NAME}.test` }, UNKNOWN_FACTS);
  assert.equal(unknown.common_name, '{{.User.Name}}.test');
});

test('an SSH engine is asked for one user, with the principals of the library', () => {
  const asked = planSshRequest(
    {
      path: 'ssh/issue/role',
      username: '{{.User.Name}}',
      additional_valid_principals: ['web'],
      extensions: { 'permit-pty': '' },
      ttl: '5m',
    },
    named('ada'),
  );
  assert.deepEqual(asked, {
    username: 'ada',
    path: 'ssh/issue/role',
    issues: true,
    body: {
      cert_type: 'user',
      valid_principals: 'ada,web',
      extensions: { 'permit-pty': '' },
      ttl: '5m',
    },
  });
  const sign = { path: 'ssh/sign/role', username: 'root' };
  assert.equal(planSshRequest(sign, {}).issues, false);
});

const bounds: [what: string, text: string, length: number, fits: boolean][] = [
  ['a name', `${'a'.repeat(3_996)}${NAME}${NAME}`, 100, true],
  ['a longer one', `${'a'.repeat(3_997)}${NAME}${NAME}`, 100, false],
  ['names', `a,${NAME},`.repeat(8), 2_044, true],
  ['more names', `a,${NAME},`.repeat(8), 2_046, false],
];
for (const [what, text, length, fits] of bounds) {
  test(`${what} with values of ${length} characters ${fits ? 'may' : 'may not'} be that long`, () => {
    const filled = () => issue({ alt_names: text }, 'b'.repeat(length)).alt_names;
    if (fits) assert.equal(filled(), text.replaceAll(NAME, 'b'.repeat(length)));
    else assert.throws(filled, UnfitValue);
  });
}

test('templates of as many values as fit are filled in at once', async () => {
  const many = (value: string, count: number): string =>
    `${value.repeat(count)}${'{{"a"}}'.repeat(Math.floor((4_090 - value.length * count) / 7))}`;
  const short = many(NAME, 30);
  const all = { common_name: short, alt_names: short, uri_sans: short };
  const body = `"${'{{.User.Name}}'.repeat(120)}${'{{"a"}}'.repeat(2_000)}"`;
  const texts = { a: short, b: short, c: short, d: short };
  const four = Object.values(texts);
  const attributes = { username: short, key_id: short, additional_valid_principals: four };
  await spendsAtMost(30, () => {
    issue(all, 'b'.repeat(115));
    ssh({ ...attributes, critical_options: texts, extensions: texts }, 'b'.repeat(115));
    fillBody(body, named('b'.repeat(500)));
  });
});

test('public keys are written as OpenSSH writes them', () => {
  const typeOf = (line: string): [string, string] => {
    const [type = '', blob = ''] = line.split(' ');
    const bytes = Buffer.from(blob, 'base64');
    return [type, bytes.toString('latin1', 4, 4 + bytes.readUInt32BE(0))];
  };
  const keys: [key: KeyObject, type: string][] = [
    [generateKeyPairSync('ed25519').publicKey, 'ssh-ed25519'],
    [generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'ecdsa-sha2-nistp384'],
    [generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey, 'ssh-rsa'],
  ];
  for (const [key, type] of keys) {
    assert.deepEqual(typeOf(encodeSshPublicKey(key)), [type, type]);
  }
});
