import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { takeUpgrades } from './upgrades.ts';

/** @param onUpgrade looks at a request before anybody takes it */
async function ask(t: TestContext, headers: string, onUpgrade?: (of: IncomingMessage) => void) {
  const server = createServer();
  const taken: string[] = [];
  if (onUpgrade) server.on('upgrade', onUpgrade);
  takeUpgrades(server, (_request, socket, head) => {
    taken.push(head.toString());
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  // As whoever hands a connection over to it does.
  server.on('connection', (socket: Socket) => socket.on('error', () => socket.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1' });
  t.after(() => {
    client.destroy();
    server.close();
  });
  client.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: a\r\n${headers}\r\n`);
  let heard = '';
  client.on('data', (data: Buffer) => {
    heard += data.toString();
  });
  await once(client, 'close');
  return { status: heard.slice(9, 12), taken };
}

const requests: [what: string, headers: string, status: string, taken: string[]][] = [
  ['an upgrade', '', '101', ['']],
  ['one with the length of no body', 'Content-Length: 0\r\n', '101', ['']],
  ['one with the length of a body', 'Content-Length: 5\r\n', '400', []],
  ['one with a body in chunks', 'Transfer-Encoding: chunked\r\n', '400', []],
];

for (const [what, headers, status, taken] of requests) {
  test(`${what} is ${taken.length > 0 ? 'taken' : 'refused'}`, async (t) => {
    assert.deepEqual(await ask(t, headers), { status, taken });
  });
}

test('a connection that breaks off while a body is refused ends nothing else', async (t) => {
  const breakOff = ({ socket }: IncomingMessage): void => {
    socket.destroy(new Error('it has broken off'));
  };
  const { taken } = await ask(t, 'Content-Length: 5\r\n', breakOff);
  assert.deepEqual(taken, []);
});
