import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { piecesOf, repeats, textsOf, textsOfPath } from './repeated.ts';
import { describeRefusal, REFUSAL } from './words.ts';

test('a refusal is told in one line, and nothing when there is none', () => {
  assert.equal(describeRefusal('{"errors":["a\\nb","c"]}'), 'a b; c');
  assert.equal(describeRefusal('<html>'), '');
  assert.equal(describeRefusal('{"errors":"x"}'), '');
  assert.equal(describeRefusal(JSON.stringify({ errors: ['a b '.repeat(999)] })).length, 300);
  assert.equal(describeRefusal(JSON.stringify({ errors: Array(50_000).fill('a') })).length, 300);
});

/** What a server says, and what of it is told: all of it where nothing else is there. */
const told: [words: string, told?: string][] = [
  ['permission denied'],
  ['1 error occurred:\n\t* permission denied\n\n', '1 error occurred: * permission denied'],
  ['unknown role: app-reader'],
  ['Vault is sealed'],
  ['failed to persist lease entry: context deadline exceeded'],
  ['no handler for route "database/creds/x". route entry not found.', 'no handler for route …'],
  ['dial tcp 10.0.0.1:5432: connect: connection refused'],
  ['dial tcp 10.0.0.1:5432: i/o timeout'],
  ['lookup db.internal on 10.0.0.2:53: no such host'],
  ['x509: certificate signed by unknown authority'],
  [
    "Error 1045 (28000): Access denied for user 'root'@'db'",
    'Error 1045 (28000): Access denied for user …',
  ],
  ["the role doesn't exist"],
  ['password authentication failed for user "root"', 'password authentication failed for user …'],
  ['missing password in the request'],
  ['the password must be longer'],
  ['dial mongodb://root:hunter2@db:1/x', 'dial …'],
  ['dial postgres://root:hunt@er2@db:1/x', 'dial …'],
  ['parse "postgres://root:hunter2/Zq9w@db:5432/x": invalid port ":hunter2"', 'parse …'],
  ['pw://u:hunter2 Zq9w@h', '…'],
  ['dial mysql: root:hunter2Zq9w@tcp(db:3306)/x', 'dial mysql: …'],
  ['host=db user=root password=hunter2 port=1', '…'],
  ['Password=hunter2;Token=x', '…'],
  ['password="hunter two" failed', '…'],
  ['password="hunter2\\"Zq9w" x', '…'],
  ["password='hunter2''Zq9w'", '…'],
  ['login "{\\"username\\":\\"sa\\",\\"password\\":\\"hunter\\"}" failed', 'login …'],
  ['{password: hunter}', '…'],
  ['password = hunter', 'password …'],
  ['password: hunter', 'password: …'],
  ['db_password: hunter', 'db_password: …'],
  ['Passphrase: hunter', 'Passphrase: …'],
  ['api-key: hunter', 'api-key: …'],
  ['(token): hunter', '(token): …'],
  ['user: root', 'user: …'],
  ['password:\nhunter', 'password: …'],
  ['password : hunter', 'password …'],
  ['password hunter', 'password …'],
  ['the password is hunter', 'the password …'],
  ['login as root/hunter', 'login as …'],
  ['bad `hunter two`', 'bad …'],
  ['bad \u201chunter two\u201d', 'bad …'],
  ['bad aHVudGVyMg==', 'bad …'],
  ['bad hvs.CAESIJ', 'bad …'],
  ['bad s.abcdef', 'bad …'],
  [`bad ${'x'.repeat(41)}`, 'bad …'],
  [`good ${'x'.repeat(40)}`],
  ['token hvs.sent is no token', 'token … is no token'],
  ['a\u001b[31mb\u0000c\u202ed\u009be', 'a …'],
  ['a\u0000c\u202ed\u009be', 'a c d e'],
];
for (const [words, wanted = words] of told) {
  test(`of ${JSON.stringify(words.slice(0, 50))} is told ${wanted.slice(0, 50)}`, () => {
    const refusal = JSON.stringify({ errors: [words] });
    assert.equal(describeRefusal(refusal, ['hvs.sent', '']), wanted);
  });
}

const BODY = JSON.stringify({
  passphrase: 'app-reader',
  pin: 94021,
  z: { y: ['correct horse Battery', 'a\nstaple'], x: true },
});
const repeated: [words: string, wanted: string, body?: string][] = [
  ['unknown one for this mount', 'unknown one for this mount'],
  ['cannot find app-reader here', 'cannot find …'],
  ['cannot find reader here', 'cannot find …'],
  ['cannot find readers here', 'cannot find …'],
  ['cannot find app_read here', 'cannot find …'],
  ['cannot find appreader here', 'cannot find …'],
  ['cannot find ready here', 'cannot find ready here'],
  ['no number 94021 here', 'no number …'],
  ['no number 94022 here', 'no number 94022 here'],
  ['no number 940219 here', 'no number …'],
  ['cannot accept correct, or else', 'cannot accept …'],
  ['cannot accept BATTERY.', 'cannot accept …'],
  ['cannot accept batter... at all', 'cannot accept …'],
  ['cannot accept ttery', 'cannot accept …'],
  ['cannot accept tery', 'cannot accept tery'],
  ['cannot accept xcorrectly', 'cannot accept …'],
  ['no staple', 'no …'],
  ['no staff', 'no staff'],
  ['unknown field passphrase', 'unknown field …'],
  ['unknown field phrase', 'unknown field …'],
  ['unknown field phras', 'unknown field …'],
  ['no pin', 'no …'],
  ['it may be true', 'it may be true'],
  ['cannot accept cafebattery', 'cannot accept …', '{"a":"caf\u00e9battery"}'],
  ['cannot accept cafeb', 'cannot accept …', '{"a":"\uff43\uff41\uff46\uff45\uff42\uff41\uff54"}'],
  ['no item 0 and 1', 'no item 0 and 1', '["zq",["zr"]]'],
  ['no form: name', 'no form: …', 'name=zq'],
  ['cannot accept zq', 'cannot accept …', 'name=zq'],
];
for (const [words, wanted, body = BODY] of repeated) {
  test(`of ${words} is told ${wanted} where ${body === BODY ? 'JSON' : body} was sent`, () => {
    const refusal = JSON.stringify({ errors: [words] });
    assert.equal(describeRefusal(refusal, [], piecesOf(textsOf(body))), wanted);
  });
}

const paths: [words: string, wanted: string, path: string][] = [
  ['no value at horse', 'no value at …', 'kv/horse'],
  ['no value at horses', 'no value at …', 'kv/data/horse?version=2'],
  ['no value at cafebattery', 'no value at …', 'kv/caf%C3%A9battery'],
  ['no value at hors', 'no value at hors', 'kv/horse'],
  ['no value at battery', 'no value at …', 'kv/%/battery'],
];
for (const [words, wanted, path] of paths) {
  test(`of ${words} is told ${wanted} where ${path} was asked for`, () => {
    const refusal = JSON.stringify({ errors: [words] });
    assert.equal(describeRefusal(refusal, [], piecesOf(textsOfPath(path))), wanted);
  });
}

test('of a body that is nested as deep as it may be words are found, too', () => {
  const depth = 4_000;
  const sent = piecesOf(textsOf(`${'['.repeat(depth)}"hidden"${']'.repeat(depth)}`));
  assert.ok(repeats(sent, 'hidden'));
  assert.ok(!repeats(sent, 'told'));
});

/** Texts with letters, and how often each may be there to be looked through. */
const lengths: [letters: string, times: number][] = [
  ['a', 16_384],
  ['ab c,', 3_276],
  // One that stands for eighteen, which are four words.
  ['\ufdfa', 910],
];
for (const [letters, times] of lengths) {
  test(`of ${times} times ${letters} words are looked for, and beyond that none is told`, () => {
    const refusal = JSON.stringify({ errors: ['permission denied'] });
    const describe = (sent: string[]) => describeRefusal(refusal, [], piecesOf(sent));
    assert.equal(describe([letters.repeat(times)]), 'permission denied');
    assert.equal(describe([letters.repeat(times + 1)]), '…');
    assert.equal(describe([letters.repeat(times), letters]), '…');
  });
}

test('what is sent the same over and over is kept once', () => {
  const sent = piecesOf(['0123456789'.repeat(1_000)]);
  assert.ok(sent !== 'anything' && sent.size <= 12);
});

test('of what was sent no part is told, however often and wherever it is said', () => {
  const secret = `hvs.${'a'.repeat(96)}`;
  const refusal = JSON.stringify({ errors: [`x${secret.repeat(60)}`] });
  assert.equal(describeRefusal(refusal, [secret]), '…');
});

/** Refusals that are longer than what is taken of them, or broken off, and what is told of them. */
const broken: [text: string, told: string][] = [
  ['{"errors":["a","b', 'a; …'],
  ['{"errors":["a","b"', 'a; …'],
  ['{"errors":["a","b",', 'a; b; …'],
  ['{"errors":["a"],"data":{"x":"', 'a; …'],
  [' { "errors" : [ "a" ,\n"b" ] , ', 'a; b; …'],
  ['{"errors":["\\u0061 b", "b', 'a b; …'],
  ['{"errors":["a\\",", "b', '…; …'],
  ['{"errors":["invalid lease","', 'invalid lease; …'],
  ['{"errors":[5,"a",', '…'],
  ['{"errors":[', '…'],
  ['{"errors":{"a":"b",', ''],
  ['{"data":{"errors":["a"],', ''],
  ['<html>{"errors":["a",', ''],
];
for (const [text, wanted] of broken) {
  test(`of ${JSON.stringify(text)}, which goes on, is told ${wanted || 'nothing'}`, () => {
    assert.equal(describeRefusal(text), wanted);
  });
}

test('of a long refusal its beginning is told, and nothing of a text that goes beyond it', () => {
  const errors = (last: number): string => JSON.stringify({ errors: ['a', 'b'.repeat(last)] });
  const frame = errors(0).length;
  assert.equal(describeRefusal(errors(REFUSAL - frame)), 'a; …');
  const secret = 'abcdefgh';
  const spaces = ' '.repeat(REFUSAL - frame - 4);
  const cut = JSON.stringify({ errors: ['a', `${spaces}${secret}`] });
  assert.ok(cut.slice(0, REFUSAL).includes('abcd'));
  assert.equal(describeRefusal(cut, [secret]), 'a; …');
  const late = JSON.stringify({ data: 'x'.repeat(REFUSAL), errors: ['a'] });
  assert.equal(describeRefusal(late), '');
});

for (const long of [
  'a '.repeat(2 ** 18),
  `${'a.'.repeat(2 ** 18)}!`,
  '://'.repeat(2 ** 17),
  'a:'.repeat(2 ** 18),
]) {
  test(`words like ${JSON.stringify(long.slice(0, 6))} take no longer the more there are`, async () => {
    const refusal = JSON.stringify({ errors: [long] });
    await spendsAtMost(100, () => void describeRefusal(refusal));
  });
}
