import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldErrors } from '../../resource/field-errors.ts';
import {
  canonicalText,
  checkCredentialChange,
  checkNewCredential,
  planCredential,
  presentCredential,
} from './credential.ts';

const before = {
  open: { username: 'u', domain: 'd' },
  secret: { private_key: 'k', private_key_passphrase: 'p' },
};

test('a change keeps what it does not speak of, and drops what it sets to null', () => {
  const item = { attributes: { username: 'v' } };
  const mask = ['attributes.username', 'attributes.private_key_passphrase'];
  assert.deepEqual(planCredential('ssh_private_key', before, item, mask), {
    open: { username: 'v', domain: 'd' },
    secret: { private_key: 'k' },
  });
  assert.deepEqual(planCredential('ssh_private_key', before, item, []), before);
});

const presented: [type: string, secret: object, expected: object][] = [
  ['username_password', { password: 'p' }, { password: 'p', username: 'u' }],
  ['username_password_domain', { password: 'p' }, { password: 'p', username: 'u', domain: 'd' }],
  ['password', { password: 'p' }, { password: 'p' }],
  ['ssh_private_key', { private_key: 'k' }, { private_key: 'k', username: 'u' }],
  ['json', { object: { a: 1 } }, { a: 1 }],
];

for (const [type, secret, expected] of presented) {
  test(`a credential ${type} is ${Object.keys(expected).join(', ')}`, () => {
    assert.deepEqual(presentCredential(type, before.open, { ...secret }), expected);
  });
}

test('an object has one text whatever the order of its names, lists keep theirs', () => {
  assert.equal(
    canonicalText({ b: { d: 1, c: 2 }, a: 3 }),
    canonicalText({ a: 3, b: { c: 2, d: 1 } }),
  );
  assert.notEqual(canonicalText({ a: [1, 2] }), canonicalText({ a: [2, 1] }));
  assert.equal(canonicalText('text'), 'text');
});

const objects: [object: Record<string, unknown>, refused: boolean, why: string][] = [
  [{ a: 'x'.repeat(65_528) }, false, 'as long as can be'],
  [{ a: 'x'.repeat(65_529) }, true, 'one letter more'],
  [{ a: Array(32_765).fill(1) }, true, 'of many items'],
];

for (const [object, refused, why] of objects) {
  test(`the object of a json credential is ${refused ? 'refused' : 'taken'}: ${why}`, () => {
    const item = { attributes: { object } };
    const made = new FieldErrors();
    checkNewCredential(item, 'json', made);
    const changed = new FieldErrors();
    const mask = ['attributes.object'];
    checkCredentialChange(item, { subtype: 'json', mask }, changed);
    assert.deepEqual(
      [made, changed].map((errors) => errors.has('attributes.object')),
      [refused, refused],
    );
  });
}
