import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Seal } from './seal.ts';
import { addShare, startCollection } from './share-collection.ts';
import { type HealthCodes, health, type SealFacts, sealStatus } from './status.ts';

const seal: Seal = {
  kind: 'shamir',
  shares: 5,
  threshold: 3,
  generation: 1,
  root_key_sealed: new Uint8Array(),
  recovery_hash_sealed: null,
  share_hashes: null,
  seal_key_wrapped: null,
  cluster_id: 'c-1',
  cluster_name: 'cluster',
  created_at: 0,
};
const facts: SealFacts = {
  seal,
  configured: 'shamir',
  sealed: true,
  collection: undefined,
  storage: 'sqlite',
};

const states: [
  name: string,
  seal: Seal | undefined,
  sealed: boolean,
  codes: HealthCodes,
  status: number,
][] = [
  ['active', seal, false, {}, 200],
  ['active', seal, false, { activecode: 204 }, 204],
  ['active', seal, false, { sealedcode: 204, uninitcode: 204 }, 200],
  ['sealed', seal, true, {}, 503],
  ['sealed', seal, true, { sealedcode: 299 }, 299],
  ['sealed', seal, true, { activecode: 204 }, 503],
  ['not initialised', undefined, true, {}, 501],
  ['not initialised', undefined, true, { uninitcode: 200 }, 200],
  ['not initialised', undefined, true, { sealedcode: 200 }, 501],
];
for (const [name, found, sealed, codes, status] of states) {
  test(`health of a server that is ${name} with ${JSON.stringify(codes)} is ${status}`, () => {
    assert.equal(health({ seal: found, sealed }, codes, 0).status, status);
  });
}

test('health tells the cluster only when the server is unsealed', () => {
  const { body } = health({ seal, sealed: false }, {}, 1_700_000_000_999);
  assert.equal(body.cluster_id, 'c-1');
  assert.equal(body.server_time_utc, 1_700_000_000);
  assert.equal('cluster_id' in health({ seal, sealed: true }, {}, 0).body, false);
});

test('seal-status of a sealed server has its shares and progress, and no cluster', () => {
  const begun = startCollection('n-1', { threshold: 3, generation: 1 }, 0);
  const collection = addShare(begun, new Uint8Array(33), 0);
  const status = sealStatus({ ...facts, collection });
  assert.deepEqual(
    [status.t, status.n, status.progress, status.nonce, status.sealed],
    [3, 5, 1, 'n-1', true],
  );
  assert.equal('cluster_name' in status, false);
  assert.equal(status.version, '1.21.5');
});

test('before initialisation seal-status has the kind that is configured, which clients ask for', () => {
  const status = sealStatus({ ...facts, seal: undefined, configured: 'keyfile' });
  assert.deepEqual(
    [status.type, status.initialized, status.sealed, status.recovery_seal, status.n],
    ['keyfile', false, true, true, 0],
  );
  assert.equal(sealStatus(facts).recovery_seal, false);
});
