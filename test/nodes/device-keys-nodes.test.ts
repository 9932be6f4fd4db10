// The first use of a key that a device has not yet, on two nodes at once: it is made once.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { FAKE_PIN, type FakeToken, makeFakeToken } from '../support/fake-token.ts';
import { inReverse, newDirectory } from '../support/node-process.ts';
import { configAt } from '../support/placed-server.ts';
import { type Client, startTestServer } from '../support/server.ts';

interface Nodes {
  device: FakeToken;
  nodes: Client[];
}

const seal: Config['seal'] = {
  ...{ type: 'pkcs11', library: 'fake', slot: undefined, token_label: 'a' },
  ...{ pin: FAKE_PIN, key_label: 'seal', generate_key: true },
};

async function start(t: TestContext, place: Place): Promise<Nodes> {
  const scope = inReverse(t);
  const directory = newDirectory(scope);
  const device = makeFakeToken(scope);
  // What is looked for is not found for as long as that after it was asked for.
  device.slowDown(30);
  const startOne = (node_name: string) => {
    const config = { ...configAt(place, directory, { node_name }), kms_library: [device.library] };
    return startTestServer(scope, { config: { ...config, seal } });
  };
  const near = await startOne('a');
  const far = place.options().engine === 'postgres' ? await startOne('b') : near;
  return { device, nodes: [near, far] };
}

const onEach = <Answer>(nodes: Client[], ask: (node: Client) => Promise<Answer>) =>
  Promise.all([...nodes, ...nodes].map(ask));

eachPlace('first keys of devices', (newPlace) => {
  test('of two nodes that are initialised at once one is, and both open by the one key', async (t) => {
    const { nodes } = await start(t, await newPlace());
    const made = await onEach(nodes, ({ call }) => call('PUT', 'sys/init', {}, { token: '' }));
    const statuses = made.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 400, 400, 400], made.map(({ text }) => text).join());
    for (const { status, text } of made) {
      if (status === 400) assert.match(text, /Vault is already initialized/);
    }
    for (const node of nodes) {
      while ((await node.call('GET', 'sys/health')).status !== 200) {
        await node.running.app.store.refreshConfig();
      }
    }
    const token = made.find(({ status }) => status === 200)?.textAt('root_token') ?? '';
    for (const name of ['one', 'two', 'three']) {
      const body = {
        ...{ library: 'fake', token_label: 'a', pin: FAKE_PIN, mechanism: '0x1041', curve: 'P256' },
        ...{ key_label: name, allow_generate_key: true },
      };
      const path = `sys/managed-keys/pkcs11/${name}`;
      assert.equal((await nodes[0]?.call('POST', path, body, { token }))?.status, 204);
      await nodes[1]?.running.app.store.refreshConfig();
      const used = await onEach(nodes, ({ call }) =>
        call('POST', `${path}/test/sign`, {}, { token }),
      );
      for (const { status, text } of used) assert.equal(status, 204, text);
    }
  });
});
