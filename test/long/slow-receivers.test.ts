/** Receivers of warnings that take messages and say nothing, beside those that answer. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { expirationJobs } from '../../src/pki/expiration/jobs.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import { makeServerPair, startReceiver } from '../support/receiver.ts';
import { startTestServer } from '../support/server.ts';

const DAY = 86_400_000;
const pair = makeServerPair();
let ahead_ms = 0;

test('three receivers that say nothing keep neither others nor requests waiting', async () => {
  const { call, running } = await startTestServer(
    { after },
    { jobs: [], now: () => Date.now() + ahead_ms },
  );
  const silent = await startReceiver({ after }, pair);
  silent.silent = true;
  const quick = await startReceiver({ after }, pair);
  const warn = async (at: number, url: string, ttl = '700h'): Promise<void> => {
    await call('POST', `sys/mounts/pki${at}`, { type: 'pki' });
    const root = { common_name: 'Root', key_type: 'ec', ttl };
    await call('POST', `pki${at}/root/generate/internal`, root);
    const settings = { enabled: true, webhook_url: url, webhook_ca: pair.ca, before: '7d' };
    const set = await call('POST', `pki${at}/config/expiration-warnings`, settings);
    assert.equal(set.status, 200, set.text);
  };
  const work = async (): Promise<void> => {
    for (const job of expirationJobs) await runIfFree(running.app, job);
  };
  for (let at = 0; at < 3; at += 1) await warn(at, silent.url);
  await warn(3, quick.url);
  for (let at = 4; at < 8; at += 1) await warn(at, quick.url, '768h');
  ahead_ms += 24.5 * DAY;
  const begun = performance.now();
  const working = work();
  while (quick.posted.length === 0 && performance.now() - begun < 8_000) {
    const asked = performance.now();
    assert.equal((await call('GET', 'pki0/config/urls')).status, 200);
    assert.ok(performance.now() - asked < 2_000);
  }
  assert.equal(quick.posted.length, 1);
  await working;
  assert.ok(performance.now() - begun < 40_000);
  assert.equal(silent.posted.length, 3);
  // From now on they are known for it.
  ahead_ms += DAY;
  const again = work();
  const before = performance.now();
  while (quick.posted.length < 5) {
    assert.ok(performance.now() - before < 5_000);
    await setTimeout(50);
  }
  await again;
});
