/** Receivers of warnings that take messages and say nothing, beside those that answer. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { expirationJobs } from '../../src/pki/expiration/jobs.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import { makeServerPair, startReceiver } from '../support/receiver.ts';
import { startTestServer } from '../support/server.ts';

const DAY = 86_400_000;
const pair = makeServerPair();
let ahead_ms = 0;

test('seven receivers that say nothing keep neither another nor a request waiting', async () => {
  const { call, running } = await startTestServer(
    { after },
    { jobs: [], now: () => Date.now() + ahead_ms },
  );
  const silent = await startReceiver({ after }, pair);
  silent.silent = true;
  const quick = await startReceiver({ after }, pair);
  for (let at = 0; at < 8; at += 1) {
    const { url } = at < 7 ? silent : quick;
    await call('POST', `sys/mounts/pki${at}`, { type: 'pki' });
    const root = { common_name: 'Root', key_type: 'ec', ttl: '700h' };
    await call('POST', `pki${at}/root/generate/internal`, root);
    const settings = { enabled: true, webhook_url: url, webhook_ca: pair.ca, before: '7d' };
    const set = await call('POST', `pki${at}/config/expiration-warnings`, settings);
    assert.equal(set.status, 200, set.text);
  }
  ahead_ms += 25 * DAY;
  const begun = performance.now();
  const work = (async () => {
    for (const job of expirationJobs) await runIfFree(running.app, job);
  })();
  while (quick.posted.length === 0 && performance.now() - begun < 8_000) {
    const asked = performance.now();
    assert.equal((await call('GET', 'pki0/config/urls')).status, 200);
    assert.ok(performance.now() - asked < 2_000);
  }
  assert.equal(quick.posted.length, 1);
  await work;
  assert.ok(performance.now() - begun < 40_000);
  assert.equal(silent.posted.length, 7);
});
