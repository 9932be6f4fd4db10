// Tidying of one mount, where several servers share a database: one of them does it, all of them know.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eachPlace } from '../support/engines.ts';
import {
  initialiseNode,
  inReverse,
  type NodeProcess,
  newDirectory,
  settingsOf,
  startNodeProcess,
} from '../support/node-process.ts';
import { must } from '../support/racing.ts';
import type { Client, Reply } from '../support/server.ts';

type Call = Client['call'];

const SLOWLY = { tidy_cert_store: true, safety_buffer: '1s', pause_duration: '1s' };

async function until(call: Call, isSo: (status: Reply) => boolean): Promise<Reply> {
  for (;;) {
    const status = await must(call('GET', 'pki/tidy-status'));
    if (isSo(status)) return status;
    await wait(50);
  }
}

const processed = (status: Reply): number => Number(status.field('data.processed_count'));

/** A mount with certificates that have ended. */
async function newMount(call: Call, count: number): Promise<void> {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
  const root = { common_name: 'R', key_type: 'ec', ttl: '700h' };
  await must(call('POST', 'pki/root/generate/internal', root));
  await must(call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec' }));
  for (let at = 0; at < count; at++) {
    await must(call('POST', 'pki/issue/any', { common_name: `${at}.test`, ttl: '1s' }));
  }
  await wait(3_500);
}

eachPlace('tidying by several servers', (newPlace, engine) => {
  test('one server tidies, the others tell how far it is, refuse a second one, and cancel it', async (t) => {
    const scope = inReverse(t);
    const place = await newPlace();
    const directory = newDirectory(scope);
    const start = (node_name: string): Promise<NodeProcess> =>
      startNodeProcess(scope, settingsOf(place, directory, node_name));
    const first = await start('a');
    const token = await initialiseNode(first);
    const call = first.as(token);
    await newMount(call, 5);
    const other = engine === 'postgres' ? (await start('b')).as(token) : call;
    assert.equal((await call('POST', 'pki/tidy', SLOWLY)).status, 202);
    await until(other, (status) => processed(status) >= 1);
    const second = await other('POST', 'pki/tidy', SLOWLY);
    assert.equal(second.status, 200);
    assert.match(second.text, /already in progress/);
    assert.equal(
      (await must(other('POST', 'pki/tidy-cancel', {}))).textAt('data.state'),
      'Cancelling',
    );
    const end = await until(call, (status) => status.textAt('data.state') === 'Cancelled');
    assert.ok(processed(end) < 5);
    const left = await must(call('LIST', 'pki/certs'));
    assert.equal((left.field('data.keys') as string[]).length, 6 - processed(end));
  });

  test('what a server has begun that is killed another one, or the next, brings to its end, and counts nothing twice', async (t) => {
    const scope = inReverse(t);
    const place = await newPlace();
    const directory = newDirectory(scope);
    const start = (node_name: string): Promise<NodeProcess> =>
      startNodeProcess(scope, settingsOf(place, directory, node_name));
    const first = await start('a');
    const token = await initialiseNode(first);
    await newMount(first.as(token), 4);
    const others = engine === 'postgres' ? [await start('b')] : [];
    assert.equal((await first.as(token)('POST', 'pki/tidy', SLOWLY)).status, 202);
    await until(first.as(token), (status) => processed(status) >= 1);
    await first.kill();
    const [next = await start('a')] = others;
    const call = next.as(token);
    assert.equal((await must(call('GET', 'pki/tidy-status'))).textAt('data.state'), 'Running');
    const end = await until(call, (status) => status.textAt('data.state') !== 'Running');
    assert.equal(end.textAt('data.state'), 'Finished');
    assert.equal(end.field('data.cert_store_deleted_count'), 4);
    assert.equal(end.field('data.total_count'), 4);
    const left = await must(call('LIST', 'pki/certs'));
    assert.equal((left.field('data.keys') as string[]).length, 1);
  });
});
