import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPassword, NO_PASSWORD, SALT_LENGTH, verifyPassword } from './password.ts';

const salt = new Uint8Array(SALT_LENGTH).fill(7);

test('a password is the one that was hashed, and no other is', async () => {
  const hashed = await hashPassword('Größe 🙂', salt);
  assert.match(hashed, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.ok(await verifyPassword('Größe 🙂', hashed));
  for (const other of ['', 'größe 🙂', 'Größe', 'Größe 🙂 ']) {
    assert.ok(!(await verifyPassword(other, hashed)), other);
  }
});

test('the same password with another salt has another hash', async () => {
  const other = new Uint8Array(SALT_LENGTH).fill(8);
  assert.notEqual(await hashPassword('x', salt), await hashPassword('x', other));
});

test('what is no hash matches nothing, and neither does that of nobody', async () => {
  for (const hashed of ['', 'x', '$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA', NO_PASSWORD]) {
    assert.ok(!(await verifyPassword('', hashed)), hashed);
    assert.ok(!(await verifyPassword('password', hashed)), hashed);
  }
});
