import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  addTarget,
  addWorker,
  beginSession,
  connectionsOf,
  echo,
  eventually,
  overOf,
  ownSettings,
  startCarryingServer,
  startEcho,
} from '../support/workers-alone.ts';

const IS = (tag: string): string => `"${tag}" in "/tags/type"`;

test('sessions that are silent end at workers that stand alone and through two hops; one byte now and then keeps them', async (t) => {
  // Far shorter than a byte may take to be noted.
  const session_limits = { idle_seconds: 2 };
  const server = await startCarryingServer(t, { storing: { ...ownSettings(t), session_limits } });
  const { port } = await startEcho(t);
  const attributes = { default_port: port };
  const inner = { name: 'inside', listener: null, tags: { type: ['inner'] } };
  await Promise.all([
    addWorker(t, server, inner),
    addWorker(t, server, { name: 'front', tags: { type: ['front'] } }),
    addWorker(t, server, { name: 'side', tags: { type: ['front'] } }),
  ]);
  const direct = await addTarget(server, { attributes, egress_worker_filter: IS('front') });
  const hops = await addTarget(server, {
    attributes,
    egress_worker_filter: IS('inner'),
    ingress_worker_filter: IS('front'),
  });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const trickle = async (stream: Duplex): Promise<void> => {
    for (; !stop.signal.aborted && !stream.destroyed; await wait(1_000)) await echo(stream, '.');
  };

  const busy = [await beginSession(server, direct), await beginSession(server, hops)];
  const kept = await Promise.all(busy.map((one) => one.open()));
  const running = kept.map(trickle);
  // Two connections at two workers: one is silent, the session is not.
  const [silentOfBusy] = await Promise.all(
    busy.slice(1).map((one) => one.open(one.worker_addresses[1])),
  );
  assert.ok(silentOfBusy);
  let cut = 0;
  void overOf(silentOfBusy).then(() => {
    cut += 1;
  });
  const silent = [await beginSession(server, direct), await beginSession(server, hops)];
  const opened = await Promise.all(silent.map((one) => one.open()));
  for (const stream of opened) await echo(stream, 'hello');
  const over = Promise.all(opened.map(overOf));

  await over;
  for (const { id } of silent) {
    await eventually(async () => {
      const read = await server.ask('GET', `sessions/${id}`);
      assert.equal(read.field('termination_reason'), 'timed out');
    }, 20_000);
    const [connection] = await connectionsOf(server, id);
    assert.equal(connection?.closed_reason, 'timed out');
  }
  for (const { id } of busy) {
    const read = await server.ask('GET', `sessions/${id}`);
    assert.equal(read.field('status'), 'active');
  }
  assert.equal(cut, 0);
  stop.abort();
  await Promise.all(running);
  for (const stream of kept) await echo(stream, 'still there');
});
