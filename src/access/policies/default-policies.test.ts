import assert from 'node:assert/strict';
import test from 'node:test';
import { capabilitiesAt, compiledAcl } from '../../../test/support/judged.ts';
import { expandPolicy } from '../../acl/policy.ts';
import { parsePolicy } from '../../acl/policy-reader.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { DEFAULT_POLICY, RESPONSE_WRAPPING_POLICY } from './default-policies.ts';

const ALICE: IdentityFacts = {
  entity: { id: 'e-1', name: 'alice', metadata: {}, aliases: {} },
  groups: [],
};

async function capabilitiesOf(
  text: string,
  path: string,
  identity?: IdentityFacts,
): Promise<string> {
  const acl = compiledAcl([expandPolicy(parsePolicy(text), identity)], 0);
  return (await capabilitiesAt(acl, path)).join(' ');
}

const defaults: [path: string, capabilities: string][] = [
  ['auth/token/lookup-self', 'read'],
  ['auth/token/lookup', 'deny'],
  ['auth/token/renew-self', 'update'],
  ['auth/token/revoke-self', 'update'],
  ['auth/token/revoke', 'deny'],
  ['auth/token/create', 'deny'],
  ['sys/capabilities-self', 'update'],
  ['sys/capabilities', 'deny'],
  ['sys/leases/renew', 'update'],
  ['sys/leases/lookup', 'update'],
  ['sys/leases/lookup/pki', 'deny'],
  ['sys/leases/revoke', 'deny'],
  ['cubbyhole/a/b', 'create delete list read update'],
  ['cubbyholex', 'deny'],
  ['sys/wrapping/wrap', 'update'],
  ['sys/wrapping/rewrap', 'deny'],
  ['sys/tools/hash/sha2-256', 'update'],
  ['identity/entity/id/e-1', 'read'],
  ['identity/entity/id/e-2', 'deny'],
  ['identity/entity/name/alice', 'read'],
  ['pki/ca', 'deny'],
];
for (const [path, capabilities] of defaults) {
  test(`the default policy: ${path} ${capabilities}`, async () => {
    assert.equal(await capabilitiesOf(DEFAULT_POLICY, path, ALICE), capabilities);
  });
}

test('without an identity the default policy opens no entity', async () => {
  assert.equal(await capabilitiesOf(DEFAULT_POLICY, 'identity/entity/id/e-1'), 'deny');
});

test('a wrapping token fetches its answer and does nothing else', async () => {
  assert.equal(await capabilitiesOf(RESPONSE_WRAPPING_POLICY, 'sys/wrapping/unwrap'), 'update');
  assert.equal(await capabilitiesOf(RESPONSE_WRAPPING_POLICY, 'cubbyhole/response'), 'create read');
  assert.equal(await capabilitiesOf(RESPONSE_WRAPPING_POLICY, 'cubbyhole/other'), 'deny');
  assert.equal(await capabilitiesOf(RESPONSE_WRAPPING_POLICY, 'sys/wrapping/rewrap'), 'deny');
});
