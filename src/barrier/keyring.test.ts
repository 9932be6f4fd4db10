import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dataKey,
  hashKey,
  KEYRING_KEY_RANDOMNESS,
  type KeyringRow,
  openKeyring,
  wipeKeyring,
  wrapKeyringKey,
} from './keyring.ts';

const rootKey = () => new Uint8Array(32).fill(1);

function row(use: KeyringRow['use'], term: number, seed: number): KeyringRow {
  const random = new Uint8Array(KEYRING_KEY_RANDOMNESS).fill(seed);
  return wrapKeyringKey({ root_key: rootKey(), use, term, random, created_at: 100 + term });
}

const rows = [row('hash', 0, 2), row('data', 1, 3), row('data', 2, 4)];

test('the stored keys open with the root key, and the newest generation seals', () => {
  const keyring = openKeyring(rootKey(), rows);
  assert.equal(keyring.term, 2);
  assert.deepEqual([...keyring.generations.keys()], [1, 2]);
  assert.deepEqual(keyring.generations.get(1)?.key, Buffer.alloc(32, 3));
  assert.equal(keyring.generations.get(2)?.created_at, 102);
  assert.deepEqual(keyring.hash_key, Buffer.alloc(32, 2));
});

test('the order of the rows does not matter', () => {
  assert.equal(openKeyring(rootKey(), [...rows].reverse()).term, 2);
});

test('the random bytes a key was made of are wiped once it is wrapped', () => {
  const random = new Uint8Array(KEYRING_KEY_RANDOMNESS).fill(5);
  wrapKeyringKey({ root_key: rootKey(), use: 'data', term: 1, random, created_at: 0 });
  assert.ok(random.every((byte) => byte === 0));
});

const broken: [rows: KeyringRow[], message: RegExp, why: string][] = [
  [rows.slice(1), /no hash key/, 'the hash key is missing'],
  [rows.slice(0, 1), /no data key/, 'every data key is missing'],
  [[...rows, { ...row('data', 1, 6), term: 3 }], /data\/3 does not open/, 'a row was renumbered'],
  [[...rows, { ...row('hash', 3, 6), use: 'data' }], /data\/3 does not open/, 'a use was changed'],
];
for (const [stored, message, why] of broken) {
  test(`a keyring is refused when ${why}`, () => {
    assert.throws(() => openKeyring(rootKey(), stored), message);
  });
}

test('a keyring does not open with another root key', () => {
  assert.throws(() => openKeyring(new Uint8Array(32), rows), /does not open/);
});

test('each purpose, each generation and each use has a key of its own', () => {
  const keyring = openKeyring(rootKey(), rows);
  const keys = [...keyring.generations.values()].flatMap((generation) => [
    generation.key,
    dataKey(generation, 'config'),
    dataKey(generation, 'pki-key'),
  ]);
  keys.push(hashKey(keyring, 'config'), hashKey(keyring, 'token'), keyring.hash_key);
  assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, keys.length);
});

test('a wiped keyring holds nothing but zeros', () => {
  const keyring = openKeyring(rootKey(), rows);
  const keys = [keyring.root_key, keyring.hash_key];
  for (const generation of keyring.generations.values()) keys.push(generation.key);
  wipeKeyring(keyring);
  assert.ok(keys.every((key) => key.every((byte) => byte === 0)));
});
