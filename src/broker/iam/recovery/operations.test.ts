import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../test/support/app.ts';
import { sqlitePlace } from '../../../../test/support/engines.ts';
import type { App } from '../../../app/app.ts';
import { acceptRecoveryToken } from './operations.ts';

test('unauthenticated callers with made-up recovery tokens fill no log: beyond some they are counted', async (t) => {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app, clock } = await openTestApp(await place.open());
  const told: { refused_before?: number }[] = [];
  const strict: App = {
    ...app,
    config: { ...app.config, recovery_key: new Uint8Array(32) },
    log: new Proxy(app.log, {
      get: (log, key) =>
        key === 'warn' ? (facts: object) => told.push(facts) : Reflect.get(log, key, log),
    }),
  };
  const refuse = async (): Promise<void> => {
    assert.equal(await acceptRecoveryToken(strict, 'r_1made', '192.0.2.1'), false);
  };
  for (let at = 0; at < 1000; at += 1) await refuse();
  assert.equal(told.length, 3);
  clock.now += 60;
  await refuse();
  assert.equal(told.at(-1)?.refused_before, 997);
});
