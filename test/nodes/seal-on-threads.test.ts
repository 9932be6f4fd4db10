// A server with several threads that answer is sealed and unsealed by people: no thread has a key once it is sealed, and
// all have them once it is not, also those that take the place of others at that moment.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { eachPlace, type Place } from '../support/engines.ts';
import { Everywhere, THREADS, watchHandedOn } from '../support/everywhere.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

interface Opened {
  client: Client;
  token: string;
  unseal(): Promise<void>;
  /** Until all listen, whichever had to begin anew. */
  untilAllListen(): Promise<void>;
  /** By connections of their own: those to a thread that is no more are closed. */
  look(status: number): Promise<void>;
}

async function startSealable(t: TestContext, place: Place): Promise<Opened> {
  const client = await startTestServer(t, {
    config: {
      ...{ mode: 'server', dev_root_token: undefined, seal: { type: 'shamir' } },
      ...{ threads: THREADS, storage: storageOf(place) },
    },
    jobs: [],
  });
  const counts = { secret_shares: 1, secret_threshold: 1 };
  const made = await client.call('PUT', 'sys/init', counts, { token: '' });
  const key = made.textAt('keys.0');
  const token = made.textAt('root_token');
  return {
    client,
    token,
    async unseal() {
      const unsealed = await client.call('PUT', 'sys/unseal', { key }, { token: '' });
      assert.equal(unsealed.field('sealed'), false, unsealed.text);
    },
    async untilAllListen() {
      const { threads } = client.running;
      while (threads?.count !== THREADS) await soon();
    },
    async look(status) {
      const everywhere = new Everywhere(t, client);
      const statuses = await everywhere.statuses('GET', 'auth/token/lookup-self', undefined, token);
      assert.deepEqual(statuses, [status]);
    },
  };
}

eachPlace('a seal on several threads', (newPlace) => {
  test('a sealing and an unsealing are in force on all of them, whichever of them begin meanwhile', async (t) => {
    const { client, token, ...server } = await startSealable(t, await newPlace());
    const { threads, app } = client.running;
    const handed = watchHandedOn(app);
    await server.unseal();
    for (const during of ['nothing', 'sealing', 'unsealing'] as const) {
      await server.look(200);
      if (during === 'sealing') await threads?.kill();
      assert.equal((await client.call('PUT', 'sys/seal', {}, { token })).status, 204);
      await server.untilAllListen();
      await server.look(503);
      if (during === 'unsealing') await threads?.kill();
      await server.unseal();
      await server.untilAllListen();
      handed.length = 0;
      await server.look(200);
      assert.deepEqual(handed, [], 'each has the keys');
    }
  });

  test('those that do not let go of their keys are ended, however many, and the process goes on, sealed', async (t) => {
    const { client, token, ...server } = await startSealable(t, await newPlace());
    const deaths: string[] = [];
    client.running.onDeath(({ message }) => deaths.push(message));
    const { postMessage } = Worker.prototype;
    t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, told: unknown, moved) {
      // As if it had no time to hear that.
      if (!JSON.stringify(told, textOf).includes('{"type":"seal"}'))
        postMessage.call(this, told, moved);
    } satisfies typeof postMessage);
    // Twice as many within a minute as may die of themselves.
    for (let round = 0; round * THREADS < 8; round += 1) {
      await server.unseal();
      await server.look(200);
      // It has no answer: the thread that would give it is one of them.
      await assert.rejects(client.call('PUT', 'sys/seal', {}, { token }));
      const { threads } = client.running;
      while (threads?.count === THREADS) await soon();
      while (threads?.count !== THREADS) {
        assert.deepEqual(deaths, []);
        await soon();
      }
      await server.look(503);
    }
  });
});

/** Keys and ports are not looked into. */
const textOf = (_: string, value: unknown): unknown =>
  ArrayBuffer.isView(value) || value instanceof Map || typeof value === 'bigint' ? null : value;
