import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { freePort } from '../support/free-port.ts';
import { inReverse, newDirectory, settingsOf, startNodeProcess } from '../support/node-process.ts';
import { startFakeVault } from '../support/vault.ts';
import {
  addTarget,
  addWorker,
  beginSession,
  echo,
  startCarryingServer,
  startEcho,
} from '../support/workers-alone.ts';

eachPlace('workers of several nodes that reach for each other', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  test('a worker whose connection another node holds is sent where it is wanted', async (t) => {
    const scope = inReverse(t);
    const place = await newPlace();
    const directory = newDirectory(scope);
    const a = await startCarryingServer(scope, {
      storing: settingsOf(place, directory, 'a'),
    });
    const address = `127.0.0.1:${await freePort()}`;
    await startNodeProcess(scope, {
      ...settingsOf(place, directory, 'b'),
      worker_listener: { address },
    });
    const { port } = await startEcho(scope);
    await addWorker(scope, a, { name: 'front', tags: { type: ['front'] } });
    await addWorker(scope, a, {
      name: 'inside',
      servers: [address],
      listener: null,
      tags: { type: ['inner'] },
    });
    const attributes = { default_port: port };
    const ingress_worker_filter = '"front" in "/tags/type"';
    for (const egress_worker_filter of ['"inner" in "/tags/type"', '"/name" == "b"']) {
      const filters = { egress_worker_filter, ingress_worker_filter };
      const session = await beginSession(a, await addTarget(a, { ...filters, attributes }));
      await echo(await session.open(), 'from node to node');
      await Promise.all(
        Array.from({ length: 5 }, async () => echo(await session.open(), 'and at once')),
      );
    }

    const vault = await startFakeVault();
    scope.after(() => vault.stop());
    await a.ask('POST', 'credential-stores', {
      scope_id: a.project.id,
      type: 'vault',
      attributes: {
        address: vault.url,
        token: 'good',
        worker_filter: '"inner" in "/tags/type"',
      },
    });
    assert.notEqual(vault.requests.length, 0, 'brought to the node that asks');
  });
});
