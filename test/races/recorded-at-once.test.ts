// What changes many things, or what is everybody's, one after the other: its record comes before all of it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const REQUESTS: [
  method: string,
  path: string,
  capabilities: string,
  status: number,
  /** What it changes, as a text that is another one afterwards. */
  state: (broker: Broker) => Promise<string>,
][] = [
  [
    'GET',
    'demo/crl/rotate',
    '"read"',
    200,
    async ({ client }) => (await client.call('GET', 'demo/crl/pem')).text,
  ],
  [
    'POST',
    'auth/token/tidy',
    '"update"',
    202,
    async ({ client }) => {
      const { db } = client.running.app;
      const rows = await db.selectFrom('token').select('accessor').orderBy('accessor').execute();
      return rows.map(({ accessor }) => accessor).join();
    },
  ],
];

eachPlace('a request of many write sets', (newPlace) => {
  let broker: Broker;
  const holder = new CommitHolder();
  let now = Date.now();
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    broker = await startBroker(
      { after: (stop) => stops.push(stop) },
      { place: await newPlace(), store: holder.over, now: () => now },
    );
    const root = { common_name: 'Root', key_type: 'ec' };
    await broker.client.call('POST', 'demo/root/generate/internal', root);
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  for (const [method, path, capabilities, status, state] of REQUESTS) {
    /** Something to change, and somebody who may. */
    const prepare = async () => {
      const { call } = broker.client;
      await call('POST', 'auth/token/create', { policies: ['default'], ttl: '2s' });
      const policy = 'changer';
      const grant = { policy: `path "${path}" { capabilities = [${capabilities}] }` };
      await call('PUT', `sys/policies/acl/${policy}`, grant);
      const made = await call('POST', 'auth/token/create', { policies: [policy] });
      now += 3_000;
      const earlier = await state(broker);
      const held = holder.hold(path);
      const asking = call(method, path, undefined, { token: made.textAt('auth.client_token') });
      const reply: Reply | undefined = await Promise.race([
        held.reached.then(() => undefined),
        asking,
      ]);
      assert.equal(reply, undefined, `answered before it was recorded: ${reply?.text}`);
      assert.equal(await state(broker), earlier, 'nothing is changed yet');
      return { held, asking, policy, earlier };
    };

    test(`${method} ${path} changes nothing before its record is durable`, async () => {
      const { held, asking, earlier } = await prepare();
      held.letGo();
      assert.equal((await asking).status, status);
      assert.notEqual(await state(broker), earlier);
    });

    test(`${method} ${path} changes nothing for who may not by then`, async () => {
      const { held, asking, policy, earlier } = await prepare();
      await broker.client.call('DELETE', `sys/policies/acl/${policy}`).finally(held.letGo);
      assert.equal((await asking).status, 403);
      assert.equal(await state(broker), earlier);
    });
  }
});
