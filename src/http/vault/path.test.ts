import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure } from '../../core/failure.ts';
import { canonicalisePath, listRawTails } from './path.ts';

const accepted: [target: string, path: string, rule: string][] = [
  ['/v1/pki/issue/web', 'pki/issue/web', 'a plain path'],
  ['/v1/pki/issue/web?x=1', 'pki/issue/web', 'a query is no part of it'],
  ['/v1/pki/issue/web?x=../..//%2f', 'pki/issue/web', 'nor is it judged as one'],
  ['/v1/PKI/Issue/WEB', 'PKI/Issue/WEB', 'case is kept'],
  ['/v1/pki/%69ssue/web', 'pki/issue/web', 'an encoded letter is that letter'],
  ['/%761/pki', 'pki', 'in the prefix, too'],
  ['/v1/a%20b', 'a b', 'a space'],
  ['/v1/a+b', 'a+b', 'a plus is a plus'],
  ['/v1/a%2Bb', 'a+b', 'encoded or not'],
  ['/v1/%C3%A9', 'é', 'UTF-8'],
  ['/v1/%F0%9F%98%80', '😀', 'UTF-8 of four bytes'],
  ['/v1/cert/17:67:16', 'cert/17:67:16', 'a serial number'],
  ['/v1/cert/17%3A67', 'cert/17:67', 'its colon encoded'],
  ['/v1/a..b/...', 'a..b/...', 'dots inside a name'],
  ['/v1/.well-known/..a', '.well-known/..a', 'names that begin with dots'],
  ['/v1/100%25', '100%', 'a percent sign'],
  ['/v1/a%25zz', 'a%zz', 'a percent sign before what is no encoding'],
  ['/v1/a%2541', 'a%41', 'decoding is done once'],
  ['/v1/u/bob@example.com;x=1,2', 'u/bob@example.com;x=1,2', 'reserved characters'],
  ['/v1', '', 'nothing after the prefix'],
  ['/v1/', '', 'and a slash'],
  [`/v1/${'a'.repeat(8188)}`, 'a'.repeat(8188), 'as long as may be'],
];
for (const [target, path, rule] of accepted) {
  test(`${rule}: ${target.slice(0, 60)}`, () => {
    assert.equal(canonicalisePath(target).path, path);
  });
}

const refused: [target: string, message: RegExp][] = [
  ['/v1/pki/../sys', /cannot contain relative paths/],
  ['/v1/pki/..', /cannot contain relative paths/],
  ['/v1/pki/../', /cannot contain relative paths/],
  ['/v1/../v1/sys', /cannot contain relative paths/],
  ['/v1/pki/./ca', /cannot contain relative paths/],
  ['/v1/pki/.', /cannot contain relative paths/],
  ['/v1/pki/%2e%2e/sys', /cannot contain relative paths/],
  ['/v1/pki/.%2E/sys', /cannot contain relative paths/],
  ['/v1/pki/%2e/ca', /cannot contain relative paths/],
  ['/v1//pki', /empty segments/],
  ['//v1/pki', /empty segments/],
  ['/v1/pki//ca', /empty segments/],
  ['/v1/pki//', /empty segments/],
  ['//', /empty segments/],
  ['/v1/pki%2Fca', /encoded slash/],
  ['/v1/pki%2fca', /encoded slash/],
  ['/v1/pki%5Cca', /encoded slash or backslash/],
  ['/v1/pki\\ca', /backslash/],
  ['/v1/..\\sys', /backslash/],
  ['/v1/pki%252Fca', /encoded twice/],
  ['/v1/pki%252fca', /encoded twice/],
  ['/v1/pki%255cca', /encoded twice/],
  ['/v1/%252e%252e/sys', /encoded twice/],
  ['/v1/%25252e', /encoded twice/],
  ['/v1/%2525252525252f', /encoded twice/],
  ['/v1/%2500', /encoded twice/],
  ['/v1/%250a', /encoded twice/],
  ['/v1/pki%00', /do not print/],
  ['/v1/pki%0d%0aSet-Cookie', /do not print/],
  ['/v1/pki%7F', /do not print/],
  ['/v1/pki%09', /do not print/],
  ['/v1/%C2%85', /do not print/],
  ['/v1/%C2%A0', /do not print/],
  ['/v1/%E2%80%8B', /do not print/],
  ['/v1/%E2%80%AE', /do not print/],
  ['/v1/%E2%80%A8', /do not print/],
  ['/v1/%EF%BB%BF', /do not print/],
  ['/v1/%EE%80%80', /do not print/],
  ['/v1/%', /percent-encoding that is not valid/],
  ['/v1/%4', /percent-encoding that is not valid/],
  ['/v1/%zz', /percent-encoding that is not valid/],
  ['/v1/%u0041', /percent-encoding that is not valid/],
  ['/v1/%ff', /not of UTF-8/],
  ['/v1/%C0%AF', /not of UTF-8/],
  ['/v1/%C0%AE%C0%AE/sys', /not of UTF-8/],
  ['/v1/%E0%80%AF', /not of UTF-8/],
  ['/v1/%ED%A0%80', /not of UTF-8/],
  ['/v1/%F4%90%80%80', /not of UTF-8/],
  ['/v1/%C3', /not of UTF-8/],
  ['/v1/a b', /must be percent-encoded/],
  ['/v1/a\u0000', /must be percent-encoded/],
  ['/v1/a\t', /must be percent-encoded/],
  ['/v1/é', /must be percent-encoded/],
  ['/v1/a#b', /must be percent-encoded/],
  ['http://host/v1/pki', /must begin with "\/"/],
  ['*', /must begin with "\/"/],
  ['', /must begin with "\/"/],
  ['v1/pki', /must begin with "\/"/],
  [`/v1/${'a'.repeat(8189)}`, /at most 8192 bytes/],
  [`/v1/a?${'a'.repeat(8192)}`, /at most 8192 bytes/],
  ['/v1/a?x=%', /query contains percent-encoding/],
  ['/v1/a?x=%ff', /query contains percent-encoding/],
];
for (const [target, message] of refused) {
  test(`refused: ${JSON.stringify(target.slice(0, 60))}`, () => {
    assert.throws(
      () => canonicalisePath(target),
      (error) =>
        error instanceof Failure && error.kind === 'invalid' && message.test(error.message),
    );
  });
}

for (const target of ['/', '/V1/pki', '/v2/pki', '/v1x/pki', '/v1%20/pki']) {
  test(`not under /v1/: ${target}`, () => {
    assert.throws(
      () => canonicalisePath(target),
      (error) => error instanceof Failure && error.kind === 'not_found',
    );
  });
}

test('one last slash is taken off and told apart', () => {
  assert.deepEqual(pathAndSlash('/v1/pki/certs/'), { path: 'pki/certs', slash: true });
  assert.deepEqual(pathAndSlash('/v1/pki/certs'), { path: 'pki/certs', slash: false });
});

function pathAndSlash(target: string) {
  const { path, slash } = canonicalisePath(target);
  return { path, slash };
}

test('every ASCII character that is read from a path is one that prints and separates nothing', () => {
  for (let code = 0; code < 128; code++) {
    const hex = code.toString(16).padStart(2, '0');
    const harmless =
      code >= 0x20 && code < 0x7f && !['/', '\\', '.'].includes(String.fromCharCode(code));
    const read = () => canonicalisePath(`/v1/%${hex}`).path;
    if (harmless) assert.equal(read(), String.fromCharCode(code));
    else assert.throws(read, Failure);
  }
});

test('a query is decoded', () => {
  const { query } = canonicalisePath('/v1/a?list=true&x=a+b%2Bc&x=2&y');
  assert.deepEqual(
    [...query],
    [
      ['list', 'true'],
      ['x', 'a b+c'],
      ['x', '2'],
      ['y', ''],
    ],
  );
});

const TAIL_NAMES = ['ocsp', 'unified-ocsp'];

const tails: [target: string, expected: [head: string, tail: string][], rule: string][] = [
  ['/v1/pki/ocsp/MEow', [['pki/ocsp', 'MEow']], 'one segment'],
  ['/v1/pki/unified-ocsp/MEow', [['pki/unified-ocsp', 'MEow']], 'the other name'],
  ['/v1/a/b/ocsp/ME/ow', [['a/b/ocsp', 'ME/ow']], 'a slash'],
  ['/v1/pki/ocsp/ME//ow/', [['pki/ocsp', 'ME//ow/']], 'slashes together and at the end'],
  ['/v1/pki/ocsp//MEow', [['pki/ocsp', '/MEow']], 'a slash at the start'],
  ['/v1/pki/ocsp/ME%2Fow%2B%3D%3D', [['pki/ocsp', 'ME/ow+==']], 'encoded'],
  ['/v1/pki/ocsp/ME+ow==', [['pki/ocsp', 'ME+ow==']], 'a plus stays'],
  ['/v1/pki/ocsp/ME%zzow', [['pki/ocsp', 'ME%zzow']], 'what cannot be decoded stays as it came'],
  ['/v1/pki/ocsp/%252F', [['pki/ocsp', '%2F']], 'decoding is done once'],
  ['/v1/pki/ocsp/ME?x=1', [['pki/ocsp', 'ME']], 'a query is no part of it'],
  [
    '/v1/pki/ocsp/a/ocsp/b',
    [
      ['pki/ocsp', 'a/ocsp/b'],
      ['pki/ocsp/a/ocsp', 'b'],
    ],
    'every reading',
  ],
  [
    '/v1/pki/ocsp//ocsp/b',
    [['pki/ocsp', '/ocsp/b']],
    'no reading with a head that is not canonical',
  ],
  ['/v1/pki/ocsp', [], 'nothing after it'],
  ['/v1/pki/ocsp/', [], 'an empty tail'],
  ['/v1/pki/xocsp/MEow', [], 'a look-alike'],
  ['/v1/pki/OCSP/MEow', [], 'another case'],
  ['/v1/pki/%6fcsp/MEow', [], 'the name must be written plainly'],
  ['/v1/pki/../pki/ocsp/MEow', [], 'a relative head'],
  ['/v1//pki/ocsp/MEow', [], 'an empty segment in the head'],
  ['/v1/pki%2f/ocsp/MEow', [], 'an encoded slash in the head'],
  ['/v2/pki/ocsp/MEow', [], 'not under /v1/'],
  [`/v1/pki/ocsp/${'a'.repeat(8192)}`, [], 'too long'],
];
for (const [target, expected, rule] of tails) {
  test(`a raw tail, ${rule}: ${target.slice(0, 60)}`, () => {
    const found = listRawTails(target, TAIL_NAMES).map(({ head, tail }) => [head, tail]);
    assert.deepEqual(found, expected);
  });
}

test('no more than eight readings are offered', () => {
  assert.equal(listRawTails(`/v1${'/ocsp'.repeat(1000)}/x`, TAIL_NAMES).length, 8);
});
