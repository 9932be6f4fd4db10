import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { mintToken } from '../../tokens/minting.operations.ts';
import { findToken, insertToken, renewToken } from '../../tokens/store.ts';
import { planRootToken } from '../../tokens/token.ts';

const NOW = 1_800_000_000;

eachEngine('the end of a token', (open) => {
  test('is moved only from where it was read', async () => {
    const { app } = await openTestApp(await open());
    const { token } = mintToken(app, { ...planRootToken(NOW), expires_at: NOW + 60 });
    const { id } = token;
    await app.store.commit([insertToken(token)]);
    const next = { expires_at: NOW + 600, renewed_at: NOW };
    const renew = (expires_at: number, to = next) =>
      app.store.commit([renewToken({ id, expires_at }, to)]);
    await assert.rejects(renew(NOW + 59), { kind: 'conflict' });
    await renew(NOW + 60);
    await assert.rejects(renew(NOW + 60, { ...next, expires_at: NOW + 90 }), { kind: 'conflict' });
    assert.equal((await findToken(app.db, id))?.expires_at, NOW + 600);
  });
});
