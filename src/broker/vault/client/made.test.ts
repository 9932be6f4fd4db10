import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVaultAnswer, VaultFault } from './answer.ts';
import { BEGINNING, findMadeLease, madeTokenOf } from './made.ts';

const FULL = '{"request_id":"r","lease_id":"a/b","renewable":true,"lease_duration":60,"data":{';
const all = { lease_id: 'a/b', lease_duration: 60, renewable: true };
const bare = { lease_id: 'a/b', lease_duration: 0, renewable: false };

const begun: [what: string, text: string, lease: object | undefined][] = [
  ['one that breaks off in its secret', FULL, all],
  ['one with spaces', FULL.replaceAll(/([:,{])/g, ' $1\n '), all],
  ['one that breaks off after its lease', '{"lease_id":"a/b","renewable":', bare],
  ['one with escapes', '{"lease_id":"a\\/\\u0062",', bare],
  ['one with other words before', '{"a":null,"b":-1.5e3,"c":"\\"","lease_id":"a/b",', bare],
  ['one that breaks off in its lease', '{"lease_id":"a/', undefined],
  ['one whose lease may go on', '{"lease_id":"a/b"', undefined],
  ['one whose secret has the name', '{"data":{"lease_id":"a/b"}}', undefined],
  ['one whose secret comes first', '{"data":{},"lease_id":"a/b"}', undefined],
  ['one without a lease', '{"lease_id":"","data":{', undefined],
  ['one with a number for it', '{"lease_id":5,"data":{', undefined],
  ['one that is a list', '["lease_id","a/b"', undefined],
  ['one that is no JSON', '<html>', undefined],
  ['none', '', undefined],
  ['one with a long id', `{"lease_id":"${'x'.repeat(BEGINNING)}","data":{`, undefined],
];
for (const [what, text, lease] of begun) {
  test(`of an answer, ${what}, the lease is ${JSON.stringify(lease)}`, () => {
    assert.deepEqual(findMadeLease(text), lease);
  });
}

const deep = `{"a":${'['.repeat(99)}${']'.repeat(99)}}`;
const refused: [what: string, text: string, lease_id: string | undefined][] = [
  ['its secret is nested too deep', `{"lease_id":"a/b","data":${deep}}`, 'a/b'],
  ['its secret is, and comes first', `{"data":${deep},"lease_id":"a/b"}`, 'a/b'],
  ['the id has a NUL', '{"lease_id":"a\\u0000b"}', 'a\u0000b'],
  ['the id is long', `{"lease_id":"${'x'.repeat(2_049)}"}`, 'x'.repeat(2_049)],
  ['it has no end', '{"lease_id":"a/b","data":{', 'a/b'],
  ['more follows it', '{"lease_id":"a/b"}}', 'a/b'],
  ['it is a list', '[{"lease_id":"a/b"}]', undefined],
  ['it has no lease', `{"data":${deep}}`, undefined],
];
for (const [because, text, lease_id] of refused) {
  test(`an answer refused because ${because} names ${lease_id ? 'its' : 'no'} lease`, () => {
    assert.throws(
      () => parseVaultAnswer(text),
      (error) => error instanceof VaultFault && error.made?.lease_id === lease_id,
    );
  });
}

const tokens: [auth: unknown, token: string | undefined][] = [
  [{ client_token: 'hvs.a' }, 'hvs.a'],
  [{ client_token: 'x'.repeat(8_192) }, 'x'.repeat(8_192)],
  [{ client_token: 'x'.repeat(8_193) }, undefined],
  [{ client_token: '' }, undefined],
  [{ client_token: 'a b' }, undefined],
  [{ client_token: 'a\r\nb' }, undefined],
  [{ client_token: 'ä' }, undefined],
  [{ client_token: 5 }, undefined],
  [{ accessor: 'a' }, undefined],
  [['a'], undefined],
  [null, undefined],
  [undefined, undefined],
];
for (const [auth, token] of tokens) {
  test(`${JSON.stringify(auth)?.slice(0, 40)} is ${token?.slice(0, 10) ?? 'no token'}`, () => {
    assert.equal(madeTokenOf({ auth }), token);
  });
}
