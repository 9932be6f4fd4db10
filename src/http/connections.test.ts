import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { CONNECTION_DEFAULTS } from '../config/connections.ts';
import { Connections } from './connections.ts';

/** A server to which connections come whose client has gone: the system knows no address of theirs. */
function start(most: number): { connections: Connections; come(): Socket; end(): void } {
  const server = new EventEmitter();
  const connections = new Connections(
    { ...CONNECTION_DEFAULTS, max_connections: most },
    () => false,
  );
  return {
    connections,
    end: connections.watch(server as Server),
    come() {
      const socket = new Socket();
      server.emit('connection', socket);
      return socket;
    },
  };
}

test('connections whose client went before they were accepted are counted no longer than they are open', async () => {
  const { connections, come, end } = start(10);
  const sockets = Array.from({ length: 5 }, come);
  assert.equal(connections.count, 5);
  for (const socket of sockets) socket.destroy();
  await Promise.all(sockets.map((socket) => once(socket, 'close')));
  assert.equal(connections.count, 0);
  end();
});

test('of connections without an address, too, the oldest gives way to one too many', () => {
  const { connections, come, end } = start(3);
  const [first, ...others] = [come(), come(), come(), come()];
  assert.equal(first.destroyed, true);
  assert.ok(others.every(({ destroyed }) => !destroyed));
  assert.equal(connections.count, 3);
  for (const socket of others) socket.destroy();
  end();
});
