// A session stands on things, and ends with them. What those are set to is for the sessions that come:
// one that was authorized goes on where it was led.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

interface Things {
  target: string;
  /** Undefined where the target has an address of its own. */
  host: string | undefined;
}

async function makeTarget({ make, project: scope_id }: Broker, address?: string): Promise<string> {
  const attributes = { default_port: 22 };
  return make('targets', {
    scope_id,
    type: 'tcp',
    name: 'the target',
    attributes,
    ...(address ? { address } : {}),
  });
}

async function makeHosted(broker: Broker): Promise<Things> {
  const { make, admin, project: scope_id } = broker;
  const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
  const host = await make('hosts', { host_catalog_id, attributes: { address: '10.0.0.1' } });
  const set = await make('host-sets', { host_catalog_id });
  await admin('POST', `host-sets/${set}:add-hosts`, { version: 1, host_ids: [host] });
  const target = await makeTarget(broker);
  const sources = { version: 1, host_source_ids: [set] };
  await admin('POST', `targets/${target}:add-host-sources`, sources);
  return { target, host };
}

const withAddress = async (broker: Broker): Promise<Things> => ({
  target: await makeTarget(broker, '10.0.0.1'),
  host: undefined,
});

const patch =
  (body: object) =>
  async (broker: Broker, { target }: Things): Promise<Reply> => {
    const { version } = JSON.parse((await broker.admin('GET', `targets/${target}`)).text);
    return broker.admin('PATCH', `targets/${target}`, { version, ...body });
  };

const CHANGES: [
  what: string,
  make: (broker: Broker) => Promise<Things>,
  change: (broker: Broker, things: Things) => Promise<Reply>,
  ends: boolean,
][] = [
  ['another address of its target', withAddress, patch({ address: '10.0.0.2' }), false],
  ['the same address of its target', withAddress, patch({ address: '10.0.0.1' }), false],
  ['another port of its target', withAddress, patch({ attributes: { default_port: 23 } }), false],
  [
    'another address of its host',
    makeHosted,
    ({ admin }, { host }) =>
      admin('PATCH', `hosts/${host}`, { version: 1, attributes: { address: '10.0.0.2' } }),
    false,
  ],
  ['the address of its target, which is taken away', withAddress, patch({ address: null }), true],
  [
    'its host, which is taken away',
    makeHosted,
    ({ admin }, { host }) => admin('DELETE', `hosts/${host}`),
    true,
  ],
];

eachPlace('a session and', (newPlace) => {
  for (const [what, make, change, ends] of CHANGES) {
    test(`${what}: it ${ends ? 'ends' : 'goes on where it was led'}`, async (t) => {
      const broker = await startBroker(t, { place: await newPlace(), jobs: [] });
      const things = await make(broker);
      const path = `targets/${things.target}:authorize-session`;
      const made = await broker.admin('POST', path, {});
      assert.equal(made.status, 200, made.text);
      const changed = await change(broker, things);
      assert.ok(changed.status < 300, changed.text);
      const session = await broker.admin('GET', `sessions/${made.textAt('session_id')}`);
      assert.equal(session.textAt('status'), ends ? 'canceling' : 'pending');
      assert.equal(session.textAt('endpoint'), 'tcp://10.0.0.1:22');
      const next = await broker.admin('POST', path, {});
      assert.equal(next.status, ends ? 404 : 200, next.text);
    });
  }

  test('the next one is led to what is set by then', async (t) => {
    const broker = await startBroker(t, { place: await newPlace(), jobs: [] });
    const things = await withAddress(broker);
    await patch({ address: '10.0.0.2', attributes: { default_port: 23 } })(broker, things);
    const made = await broker.admin('POST', `targets/${things.target}:authorize-session`, {});
    assert.equal(made.textAt('endpoint'), 'tcp://10.0.0.2:23');
  });
});
