import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { CONNECTION_DEFAULTS } from '../config/connections.ts';
import { Connections } from './connections.ts';
import { GatheredRequest } from './request-body.ts';

/** A server to which connections come whose client has gone: the system knows no address of theirs. */
function start(most: number): {
  connections: Connections;
  come(address?: string): Socket;
  end(): void;
} {
  const server = new EventEmitter();
  const connections = new Connections(
    { ...CONNECTION_DEFAULTS, max_connections: most },
    () => false,
  );
  return {
    connections,
    end: connections.watch(server as Server),
    come(address) {
      const socket = new Socket();
      if (address) Object.defineProperty(socket, 'remoteAddress', { value: address });
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

const network = (n: number): string => `2001:db8:7:${n.toString(16)}::1`;
const countOpen = (sockets: readonly Socket[]): number =>
  sockets.filter(({ destroyed }) => !destroyed).length;

test('one too many takes the place of a site that has many networks, not of who has one connection', () => {
  const { connections, come, end } = start(100);
  const honest = come('2001:db8:8::1');
  const other = come('198.51.100.7');
  const flood = Array.from({ length: 300 }, (_, n) => come(network(n)));
  assert.equal(honest.destroyed, false);
  assert.equal(other.destroyed, false);
  assert.equal(countOpen(flood), 98);
  assert.equal(connections.count, 100);
  assert.equal(flood.at(-1)?.destroyed, false, 'the oldest of them goes');
  assert.equal(come('198.51.100.8').destroyed, false);
  assert.equal(countOpen(flood), 97);
  for (const socket of [honest, other, ...flood]) socket.destroy();
  end();
});

/** Asks on a connection; the answer has not left when `isAnswered` is not set. */
function ask(connections: Connections, socket: Socket, isAnswered: boolean): void {
  const request = new IncomingMessage(socket);
  request.complete = true;
  const response = new ServerResponse(request);
  connections.begin(request, response, () => {});
  if (isAnswered) Object.defineProperty(response, 'writableFinished', { value: true });
}

test('of sites that have as many, the one gives way that has used its connections least of late', async () => {
  const { connections, come, end } = start(50);
  const sockets = Array.from({ length: 50 }, (_, n) => come(`198.51.100.${n}`));
  for (const socket of sockets.slice(0, 10)) ask(connections, socket, true);
  const late = Array.from({ length: 10 }, (_, n) => come(`203.0.113.${n}`));
  assert.equal(countOpen(late), 10);
  assert.ok(
    sockets.slice(0, 10).every(({ destroyed }) => !destroyed),
    'used',
  );
  assert.ok(
    sockets.slice(10, 20).every(({ destroyed }) => destroyed),
    'unused',
  );
  for (const socket of [...sockets, ...late]) socket.destroy();
  end();
});

test('who is being answered gives way to nobody, and is passed over for the next', () => {
  const { connections, come, end } = start(20);
  const sockets = Array.from({ length: 20 }, (_, n) => come(`198.51.100.${n}`));
  for (const socket of sockets.slice(0, 19)) ask(connections, socket, false);
  assert.equal(come('203.0.113.1').destroyed, false);
  assert.equal(countOpen(sockets), 19);
  assert.equal(sockets.at(-1)?.destroyed, true);
  for (const socket of sockets) socket.destroy();
  end();
});

test('of an answer to somebody who has gone nothing is counted', async () => {
  const { connections, come, end } = start(10);
  const socket = come('198.51.100.7');
  const request = new IncomingMessage(socket);
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  connections.begin(request, response, () => {});
  connections.sent(response, 1_000);
  assert.equal(connections.unsent.held, 1_000, 'while the client is there');
  socket.destroy();
  await once(socket, 'close');
  assert.equal(connections.unsent.held, 0);
  connections.sent(response, 1_000);
  assert.equal(connections.unsent.held, 0);
  end();
});

test('what came with a request is counted until nothing is done for it any more, though its client has gone', async () => {
  const { connections, come, end } = start(10);
  for (const hasWork of [false, true]) {
    const socket = come('192.0.2.1');
    const request = new GatheredRequest(socket);
    request.url = '/v1/x';
    request.rawHeaders = ['cookie', 'x'.repeat(5000)];
    const response = new ServerResponse(request);
    const work = Promise.withResolvers<void>();
    connections.begin(request, response, () => {
      if (hasWork) request.work = work.promise;
    });
    assert.ok(connections.bodies.held > 5000);
    response.emit('close');
    assert.equal(connections.bodies.held > 0, hasWork);
    if (hasWork) work.reject(new Error('it failed'));
    else work.resolve();
    await work.promise.catch(() => {});
    assert.equal(connections.bodies.held, 0);
    socket.destroy();
  }
  end();
});

const heads: [what: string, url: string, headers: string[], counted: boolean][] = [
  ['a usual one', '/v1/x', ['host', 'a', 'cookie', 'x'.repeat(2000)], false],
  ['a long one', '/v1/x', ['host', 'a', 'cookie', 'x'.repeat(5000)], true],
  ['one of many fields', '/v1/x', Array.from({ length: 100 }, (_, at) => `a${at}`), true],
  ['one of some fields', '/v1/x', Array.from({ length: 40 }, (_, at) => `a${at}`), false],
  ['a query of many pairs', `/v1/x?${'a&'.repeat(130)}`, ['host', 'a'], true],
  ['a query of some pairs', `/v1/x?${'a&'.repeat(40)}`, ['host', 'a'], false],
  ['a long query of one pair', `/v1/x?a=${'b'.repeat(1000)}`, ['host', 'a'], false],
];
for (const [what, url, rawHeaders, counted] of heads) {
  test(`a head is ${counted ? '' : 'not '}counted by what it takes: ${what}`, () => {
    const { connections, come, end } = start(10);
    const socket = come('192.0.2.1');
    const request = Object.assign(new IncomingMessage(socket), { url, rawHeaders });
    connections.begin(request, new ServerResponse(request), () => {});
    assert.equal(connections.bodies.held > 0, counted);
    socket.destroy();
    end();
  });
}
