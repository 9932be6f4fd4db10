import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../test/support/engines.ts';
import { listRemembered, rememberRevoked } from './revoked-issuers.store.ts';

eachEngine('revoked issuers', (open) => {
  test('are found by their certificate on their own mount, and stay as they were first remembered', async () => {
    const store = await open();
    const issuer = { mount_id: 'm', tbs_sha256: 'ab', revoked_at_ms: 1, reason: 2 };
    await store.commit([rememberRevoked(issuer)]);
    await store.commit([rememberRevoked({ ...issuer, revoked_at_ms: 2, reason: 0 })]);
    assert.deepEqual(await listRemembered(store.db, 'm', ['aa', 'ab']), [issuer]);
    assert.deepEqual(await listRemembered(store.db, 'other', ['ab']), []);
    assert.deepEqual(await listRemembered(store.db, 'm', ['aa', 'abc']), []);
  });
});
