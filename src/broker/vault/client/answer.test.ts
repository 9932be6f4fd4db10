import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfCode, parseVaultAnswer, urlOf, VaultFault } from './answer.ts';

const paths: [address: string, path: string, url: string][] = [
  ['http://v:8200', 'secret/data/a', 'http://v:8200/v1/secret/data/a'],
  ['http://v:8200/', '/secret//a/', 'http://v:8200/v1/secret/a'],
  ['https://v/behind/', 'a?list=true', 'https://v/behind/v1/a?list=true'],
  ['http://v', 'a/b%2Fc', 'http://v/v1/a/b%2Fc'],
  ['http://v', 'a/..b', 'http://v/v1/a/..b'],
];

for (const [address, path, url] of paths) {
  test(`${path} of ${address} is ${url}`, () => assert.equal(urlOf(address, path).href, url));
}

for (const path of ['', '/', 'a/../b', 'a/%2e%2E/b', 'a/./b', 'a b', 'a\nb', 'a#b', 'a\\b', 'ä']) {
  test(`${JSON.stringify(path)} is no path of a Vault server`, () => {
    assert.throws(() => urlOf('http://v', path), VaultFault);
  });
}

const codes: [code: string, kind: string][] = [
  ['ECONNREFUSED', 'unreachable'],
  ['ENOTFOUND', 'unreachable'],
  ['ABORT_ERR', 'unreachable'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'misnamed'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'untrusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'untrusted'],
  ['CERT_HAS_EXPIRED', 'untrusted'],
];

for (const [code, kind] of codes) {
  test(`${code} is ${kind}`, () => assert.equal(faultOfCode(code).kind, kind));
}

test('an answer is read for what it may hold, whatever else is in it', () => {
  const answer = parseVaultAnswer(
    '{"lease_id":"l","lease_duration":60,"renewable":true,"data":{"a":1},"auth":{"lease_duration":5}}',
  );
  assert.equal(answer.lease_id, 'l');
  assert.equal(answer.lease_duration, 60);
  assert.equal(answer.auth_duration, 5);
  assert.deepEqual(answer.data, { a: 1 });
  const odd = parseVaultAnswer('{"lease_id":5,"lease_duration":-1,"renewable":"yes","data":[1]}');
  const { lease_id, lease_duration, renewable, data } = odd;
  assert.deepEqual([lease_id, lease_duration, renewable, data], ['', 0, false, undefined]);
  assert.equal(parseVaultAnswer('').data, undefined);
  for (const text of ['x', '[]', 'null', '"a"']) {
    assert.throws(() => parseVaultAnswer(text), VaultFault);
  }
});

const nested = (depth: number): string => `{"data":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
const kept: [what: string, text: string, isRead: boolean][] = [
  ['a lease of 2,048 characters', JSON.stringify({ lease_id: 'x'.repeat(2_048) }), true],
  ['a longer one', JSON.stringify({ lease_id: 'x'.repeat(2_049) }), false],
  ['one with a NUL', JSON.stringify({ lease_id: 'a\u0000' }), false],
  ['64 values within values', nested(64), true],
  ['65 of them', nested(65), false],
  ['a hundred thousand', nested(100_000), false],
  ['the same in lists', `{"data":{"a":${'['.repeat(99_999)}${']'.repeat(99_999)}}}`, false],
];
for (const [what, text, isRead] of kept) {
  test(`an answer with ${what} is ${isRead ? 'read' : 'malformed'}`, () => {
    if (isRead) parseVaultAnswer(text);
    else assert.throws(() => parseVaultAnswer(text), VaultFault);
  });
}
