import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eachPlace, type Place } from '../../../test/support/engines.ts';
import { type Config, DEV_DEFAULTS, devConfig } from '../../config/config.ts';
import type { StoreLog } from '../../store/committer.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Store } from '../../store/store.ts';
import { listCursors, saveCursor } from '../store.ts';
import type { KeptDevice } from './device.ts';
import { startFeeding } from './jobs.ts';
import { deleteDevice, insertDevice, listDevices } from './store.ts';

interface Scope {
  after(work: () => unknown): void;
}

/** What collects records, and which it has by now. */
async function startCollector(t: Scope): Promise<{ address: string; numbers(): number[] }> {
  let text = '';
  const server = createServer((socket) => {
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', () => {});
    t.after(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const bound = server.address();
  const port = typeof bound === 'object' ? bound?.port : 0;
  const numbers = () => [...text.matchAll(/"record":\{"n":(\d+)\}/g)].map(([, n]) => Number(n));
  return { address: `127.0.0.1:${port}`, numbers };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(5);
}

const deviceAt = (path: string, id: string, address: string): KeptDevice => ({
  path,
  id,
  type: 'socket',
  description: '',
  local: false,
  options: { address, socket_type: 'tcp' },
});

const record = (n: number) => ({ audit: `{"n":${n}}` });
const change = (store: Store, ...writes: Parameters<Store['commit']>[0]) =>
  store.commit([...writes, bumpConfigVersion()]);

/** A node that feeds, and what its log says. */
async function startNode(t: Scope, place: Place, node_name: string) {
  const store = await place.open(node_name);
  const said: string[] = [];
  const say = (_detail: object, message: string) => said.push(message);
  const log: StoreLog = { info: say, warn: say, error: say };
  const dev = devConfig(DEV_DEFAULTS);
  const options = place.options(node_name);
  const config: Config = {
    ...dev,
    storage:
      options.engine === 'postgres' ? { ...options, type: 'postgres', node_name } : dev.storage,
  };
  let isBroken = false;
  const given: Store = {
    ...store,
    get db() {
      if (isBroken) throw new Error('the database is away');
      return store.db;
    },
  };
  const feeding = await startFeeding(config, given, log);
  t.after(() => feeding.close());
  const setBroken = (broken: boolean): void => {
    isBroken = broken;
  };
  return { store, said, setBroken, node: node_name };
}

eachPlace('devices', (newPlace, engine) => {
  const names = engine === 'postgres' ? ['a', 'b'] : ['local'];

  test('one that is replaced at its path between two looks is fed no more, on any node; the new one has the whole chain', async (t) => {
    const place = await newPlace();
    const [old, fresh] = [await startCollector(t), await startCollector(t)];
    const nodes = await Promise.all(names.map((name) => startNode(t, place, name)));
    const [first] = nodes;
    assert.ok(first);
    await change(first.store, insertDevice(deviceAt('d/', '1', old.address)));
    for (const { store } of nodes) await store.commit([record(1)]);
    await until(() => old.numbers().length === nodes.length);
    await change(first.store, deleteDevice('d/'), insertDevice(deviceAt('d/', '2', fresh.address)));
    await until(() => fresh.numbers().length === nodes.length);
    for (const { store } of nodes) await store.commit([record(2)]);
    await until(() => fresh.numbers().length === 2 * nodes.length);
    assert.deepEqual(fresh.numbers().toSorted(), names.flatMap(() => [1, 2]).toSorted());
    assert.deepEqual(
      old.numbers(),
      names.map(() => 1),
    );
    for (const { store, node } of nodes) {
      await until(async () => (await listCursors(store.db, node)).length === 1);
      assert.deepEqual(
        (await listCursors(store.db, node)).map(({ name }) => name),
        ['device:d/ 2'],
      );
    }
  });

  test('one from before they had ids goes on where it was', async (t) => {
    const place = await newPlace();
    const name = names[0] ?? '';
    const collector = await startCollector(t);
    const store = await place.open(name);
    await change(store, insertDevice(deviceAt('d/', '', collector.address)));
    await store.commit([record(1)]);
    await store.commit([saveCursor({ name: 'device:d/', node: name, seq: 1 })]);
    await store.close();
    const node = await startNode(t, place, name);
    await node.store.commit([record(2)]);
    await until(() => collector.numbers().length > 0);
    assert.deepEqual(collector.numbers(), [2]);
  });

  test('when they cannot be read they are read again, though nothing changes', async (t) => {
    const place = await newPlace();
    const [kept, removed] = [await startCollector(t), await startCollector(t)];
    const { store, said, setBroken } = await startNode(t, place, names[0] ?? '');
    await change(store, insertDevice(deviceAt('kept/', '1', kept.address)));
    await change(store, insertDevice(deviceAt('removed/', '1', removed.address)));
    await store.commit([record(1)]);
    await until(() => kept.numbers().length === 1 && removed.numbers().length === 1);
    setBroken(true);
    await change(store, deleteDevice('removed/'));
    await until(() => said.some((message) => /devices could not be followed/.test(message)));
    setBroken(false);
    await until(() => said.includes('audit devices are followed again'));
    await store.commit([record(2)]);
    await until(() => kept.numbers().length === 2);
    assert.deepEqual(removed.numbers(), [1]);
  });

  const unfit: [what: string, device: KeptDevice][] = [
    ['that would be refused today', deviceAt('bad/', '1', 'ann:hunter2@127.0.0.1:9')],
    ['of an unknown type', { ...deviceAt('bad/', '1', '127.0.0.1:9'), type: 'kafka' }],
    ['whose type has another case', { ...deviceAt('bad/', '1', '127.0.0.1:9'), type: 'Socket' }],
  ];
  for (const [what, device] of unfit) {
    test(`one ${what} takes nothing and stays where it was, and the others come and go`, async (t) => {
      const place = await newPlace();
      const [collector, later] = [await startCollector(t), await startCollector(t)];
      const name = names[0] ?? '';
      const store = await place.open(name);
      await store.commit([record(1)]);
      await change(
        store,
        insertDevice(device),
        insertDevice(deviceAt('good/', '1', collector.address)),
        saveCursor({ name: 'device:bad/ 1', node: name, seq: 1 }),
      );
      await store.close();
      const node = await startNode(t, place, name);
      await node.store.commit([record(2)]);
      await until(() => collector.numbers().length === 2);
      await until(() => node.said.some((message) => /takes nothing/.test(message)));
      await change(
        node.store,
        deleteDevice('good/'),
        insertDevice(deviceAt('later/', '1', later.address)),
      );
      await node.store.commit([record(3)]);
      await until(() => later.numbers().length === 3);
      const cursors = await listCursors(node.store.db, name);
      assert.equal(cursors.find((one) => one.name === 'device:bad/ 1')?.seq, 1);
      assert.equal(node.said.filter((message) => /takes nothing/.test(message)).length, 1);
      assert.ok((await listDevices(node.store.db)).some(({ type }) => type === device.type));
    });
  }
});
