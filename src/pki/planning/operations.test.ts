import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { requireSoundKeyOf } from './operations.ts';

test('what takes the planning thread too long is refused, and what comes next is decided', async (t) => {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  const closers: (() => Promise<void> | void)[] = [];
  const opened: App = { ...app, onClose: (one) => closers.push(one) };
  t.after(async () => {
    for (const close of closers) await close();
    await place.remove();
  });
  const newKey = (): Buffer =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({
      type: 'spki',
      format: 'der',
    });
  const key = newKey();
  const judge = async (info = key): Promise<void> =>
    requireSoundKeyOf(opened, systemCaller('a', 'test'), { key_type: 'rsa', key_bits: 2048 }, info);
  // The thread has started: before that its time has not begun.
  await judge(newKey());
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const refused = assert.rejects(judge(), {
    kind: 'unavailable',
    message: 'no certificate was made: it takes too long',
  });
  t.mock.timers.tick(5_000);
  await refused;
  const next = judge();
  t.mock.timers.tick(4_999);
  await next;
});
