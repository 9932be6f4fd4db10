import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { findKey } from './secure-contexts.client.ts';

const keys: [what: string, key: KeyObject, serves: boolean][] = [
  ['Ed25519', generateKeyPairSync('ed25519').privateKey, true],
  ['ML-DSA-44', generateKeyPairSync('ml-dsa-44').privateKey, false],
  ['SLH-DSA-SHA2-128f', generateKeyPairSync('slh-dsa-sha2-128f').privateKey, false],
];
for (const [what, key, serves] of keys) {
  test(`a client's key of ${what} ${serves ? 'serves' : 'does not serve'} in TLS to a Vault server`, () => {
    const found = findKey(key.export({ type: 'pkcs8', format: 'pem' }).toString());
    assert.equal(found?.equals(key) ?? false, serves);
  });
}
