import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CONNECTION_DEFAULTS } from '../config/connections.ts';
import { Connections } from './connections.ts';
import { GatheredRequest } from './request-body.ts';

/** A server to which connections come whose client has gone: the system knows no address of theirs. */
function start(
  most: number,
  isProxy: (peer: string | undefined) => boolean = () => false,
): {
  connections: Connections;
  come(address?: string): Socket;
  end(): void;
} {
  const server = new EventEmitter();
  const connections = new Connections({ ...CONNECTION_DEFAULTS, max_connections: most }, isProxy);
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
const times = <Made>(count: number, make: (n: number) => Made): Made[] =>
  Array.from({ length: count }, (_, n) => make(n));
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

/** All that the server can have of them is in use; `held` says by whose connections. */
const SHARES: [what: string, held: string[], newcomer: string, from: string | undefined][] = [
  ['one address', [...times(9, () => '192.0.2.1'), '198.51.100.7'], '203.0.113.1', '192.0.2.1'],
  [
    'addresses of one network',
    ['198.51.100.7', '198.51.100.7', ...times(8, (n) => `192.0.2.${n}`)],
    '203.0.113.1',
    '192.0.2.0',
  ],
  [
    'one site of IPv6',
    [...times(8, (n) => network(n)), '2001:db8:8::1', '2001:db8:8::2'],
    '2001:db8:8::1',
    network(0),
  ],
  [
    'an address of the network of whoever comes',
    ['192.0.2.7', ...times(9, () => '192.0.2.1')],
    '192.0.2.9',
    '192.0.2.1',
  ],
  ['one of two whose share is the same', ['192.0.2.1', '198.51.100.7'], '192.0.2.1', undefined],
  ['those who have one each', times(9, (n) => `192.0.${n}.1`), '203.0.113.1', undefined],
  [
    'those who have one more than whoever comes',
    ['192.0.2.1', '192.0.2.1', '203.0.113.1'],
    '203.0.113.1',
    undefined,
  ],
  ['whoever comes', times(9, () => '192.0.2.1'), '192.0.2.1', undefined],
];
for (const [what, held, newcomer, from] of SHARES) {
  test(`where all connections are in use, most by ${what}, ${from ? 'one of those gives way' : 'one more is turned away'}`, () => {
    const { connections, come, end } = start(held.length);
    const sockets = held.map((address) => come(address));
    for (const socket of sockets) ask(connections, socket, false);
    const late = come(newcomer);
    assert.equal(late.destroyed, from === undefined);
    const gone = sockets.filter(({ destroyed }) => destroyed);
    assert.deepEqual(
      gone.map(({ remoteAddress }) => remoteAddress),
      from ? [from] : [],
    );
    for (const socket of [...sockets, late]) socket.destroy();
    end();
  });
}

test('who has most gives way even if all else is idle only where none of all is unused', () => {
  const { connections, come, end } = start(10);
  const busy = times(8, () => come('192.0.2.1'));
  const idle = [come('198.51.100.7'), come('198.51.100.8')];
  for (const socket of busy) ask(connections, socket, false);
  const late = [come('203.0.113.1'), come('203.0.114.1')];
  assert.equal(countOpen(busy), 8);
  assert.equal(countOpen(idle), 0);
  // Those who came are idle themselves, and the next of them take each other's places.
  late.push(come('203.0.115.1'));
  assert.equal(countOpen(busy), 8);
  for (const socket of late) ask(connections, socket, false);
  late.push(come('203.0.116.1'));
  assert.equal(countOpen(busy), 7);
  for (const socket of [...busy, ...idle, ...late]) socket.destroy();
  end();
});

test('what is being answered to a trusted proxy is not given up for one client', () => {
  const { connections, come, end } = start(12, (peer) => peer === '192.0.2.1');
  const proxied = times(9, () => come('192.0.2.1'));
  const direct = times(3, () => come('198.51.100.7'));
  for (const socket of [...proxied, ...direct]) ask(connections, socket, false);
  assert.equal(come('203.0.113.1').destroyed, false);
  assert.equal(countOpen(proxied), 9);
  assert.equal(countOpen(direct), 2);
  for (const socket of [...proxied, ...direct]) socket.destroy();
  end();
});

test('requests that wait on their connections take no more than 32 MiB, and leave room for who comes', () => {
  const { connections, come, end } = start(8_192);
  const say = (socket: Socket): void => {
    const request = Object.assign(new GatheredRequest(socket), { url: '/v1/x', complete: true });
    connections.begin(request, new ServerResponse(request), () => {});
  };
  const crowd = times(2_000, (n) => come(`${n % 2 ? '192.0.2' : '203.0.113'}.${n % 250}`));
  for (const socket of crowd) for (let n = 0; n < 32 && !socket.destroyed; n++) say(socket);
  assert.ok(connections.queued > 24 << 20 && connections.queued <= 32 << 20);
  const honest = come('198.51.100.7');
  for (let n = 0; n < 10; n++) say(honest);
  assert.equal(honest.destroyed, false);
  for (const socket of [...crowd, honest]) socket.destroy();
  end();
});

test('a body whose request waits is given up for others, and one that is worked on is not', () => {
  for (const waits of [true, false]) {
    const { connections, come, end } = start(100);
    const sockets = times(40, () => come('192.0.2.1'));
    const answered: Promise<unknown>[] = [];
    for (const socket of sockets) {
      if (waits) ask(connections, socket, false);
      const headers = { 'content-length': '1000000' };
      const request = Object.assign(new GatheredRequest(socket), { url: '/v1/x', headers });
      connections.begin(request, new ServerResponse(request), () => {});
      answered.push(request.readBody(1 << 20).catch(() => {}));
      request.push(Buffer.alloc(1_000_000));
      request.complete = true;
      request.push(null);
    }
    const other = new GatheredRequest(come('192.0.2.1'));
    other.headers = { 'content-length': '1000000' };
    connections.begin(other, new ServerResponse(other), () => {});
    other.push(Buffer.alloc(1_000_000));
    assert.equal(other.isSpoilt, !waits);
    for (const socket of sockets) socket.destroy();
    end();
  }
});

test('connections whose answers nobody has taken in time are closed a few at a time', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { connections, come, end } = start(1_000);
  const sockets = times(600, (n) => come(network(n)));
  for (const socket of sockets) {
    const request = Object.assign(new IncomingMessage(socket), { complete: true });
    const response = new ServerResponse(request);
    connections.begin(request, response, () => response.writeHead(200).flushHeaders());
  }
  now = CONNECTION_DEFAULTS.answer_ms - 1;
  t.mock.timers.tick(5_000);
  assert.equal(countOpen(sockets), 600, 'none is late yet');
  now += 2;
  t.mock.timers.tick(5_000);
  const open = countOpen(sockets);
  assert.ok(open > 300 && open < 600, `${open} are left open`);
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  assert.equal(countOpen(sockets), 0);
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

const asked: [what: string, head: number, body: number, isWhole: boolean, unsent: number][] = [
  ['a body', 0, 60_000, true, 1_000],
  ['a long head', 15_000, 0, true, 16_000],
  ['both', 15_000, 60_000, true, 16_000],
  ['half a body', 0, 60_000, false, 1_000],
];
for (const [what, head, body, isWhole, unsent] of asked) {
  test(`whose answer is not taken holds ${isWhole ? 'no' : 'the'} room for requests: ${what}`, () => {
    const { connections, come, end } = start(10);
    const socket = come('192.0.2.1');
    const request = new GatheredRequest(socket);
    request.rawHeaders = ['cookie', 'x'.repeat(head)];
    request.headers = body > 0 ? { 'content-length': `${body}` } : {};
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    connections.begin(request, response, () => {});
    if (body > 0) request.push(Buffer.alloc(isWhole ? body : body / 2));
    request.complete = isWhole;
    if (isWhole) request.push(null);
    assert.ok(connections.bodies.held >= head + body / 2);
    connections.sent(response, 1_000);
    assert.equal(connections.bodies.held > 0, !isWhole);
    assert.ok(connections.unsent.held >= unsent && connections.unsent.held < unsent + 1_000);
    socket.destroy();
    end();
  });
}

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
