// A server with several threads that answer is sealed and unsealed by people: no thread has a key once it is sealed, and
// all have them once it is not, also those that take the place of others at that moment.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { Everywhere, THREADS, watchHandedOn } from '../support/everywhere.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

eachPlace('a seal on several threads', (newPlace) => {
  test('a sealing and an unsealing are in force on all of them, whichever of them begin meanwhile', async (t) => {
    const client = await startTestServer(t, {
      config: {
        ...{ mode: 'server', dev_root_token: undefined, seal: { type: 'shamir' } },
        ...{ threads: THREADS, storage: storageOf(await newPlace()) },
      },
      jobs: [],
    });
    const { threads, app } = client.running;
    const counts = { secret_shares: 1, secret_threshold: 1 };
    const made = await client.call('PUT', 'sys/init', counts, { token: '' });
    const key = made.textAt('keys.0');
    const token = made.textAt('root_token');
    const unseal = async (): Promise<void> => {
      const unsealed = await client.call('PUT', 'sys/unseal', { key }, { token: '' });
      assert.equal(unsealed.field('sealed'), false, unsealed.text);
    };
    const handed = watchHandedOn(app);
    /** By connections of their own: those to a thread that is no more are closed. */
    const look = async (status: number): Promise<void> => {
      const everywhere = new Everywhere(t, client);
      const statuses = await everywhere.statuses('GET', 'auth/token/lookup-self', undefined, token);
      assert.deepEqual(statuses, [status]);
    };
    await unseal();
    for (const during of ['nothing', 'sealing', 'unsealing'] as const) {
      await look(200);
      if (during === 'sealing') await threads?.kill();
      assert.equal((await client.call('PUT', 'sys/seal', {}, { token })).status, 204);
      while (threads?.count !== THREADS) await new Promise((resolve) => setTimeout(resolve, 20));
      await look(503);
      if (during === 'unsealing') await threads?.kill();
      await unseal();
      while (threads?.count !== THREADS) await new Promise((resolve) => setTimeout(resolve, 20));
      handed.length = 0;
      await look(200);
      assert.deepEqual(handed, [], 'each has the keys');
    }
  });
});
