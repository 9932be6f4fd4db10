import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../../test/support/raw-talk.ts';
import { Newcomers } from './newcomers.ts';

test('one too many takes the place of the oldest of the site that has most, and who has proved itself keeps it', async (t) => {
  const newcomers = new Newcomers(4);
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket.on('error', () => {}));
    newcomers.add(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  t.after(() => {
    for (const socket of [...accepted, ...clients]) socket.destroy();
    server.close();
  });
  const open = async (localAddress: string): Promise<void> => {
    const count = accepted.length;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    clients.push(socket.on('error', () => {}));
    await until(() => accepted.length > count);
  };
  const standing = (): number[] => accepted.flatMap(({ destroyed }, at) => (destroyed ? [] : [at]));
  for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.3']) await open(address);
  assert.equal(newcomers.count, 4);
  const [first] = accepted;
  assert.ok(first);
  newcomers.proved(first);
  assert.equal(newcomers.count, 3);
  await open('127.0.0.4');
  assert.deepEqual(standing(), [0, 1, 2, 3, 4], 'there was room');
  await open('127.0.0.4');
  assert.deepEqual(standing(), [0, 2, 3, 4, 5], 'the oldest of those that have most');
  clients[3]?.destroy();
  accepted[3]?.resume();
  await until(() => newcomers.count === 3);
  await open('127.0.0.3');
  assert.deepEqual(standing(), [0, 2, 4, 5, 6], 'who has gone has no place');
});
