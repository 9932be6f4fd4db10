import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../test/support/raw-talk.ts';
import { FeedTurns } from '../sockets/feed.ts';
import { refuseInTurns } from './client-error.ts';
import { feedInTurns } from './feeding.ts';
import { closeInTurns } from './leaving.ts';

/** Turns whose time is up when the test says so; what waits then goes on when it says so. */
class HeldTurns extends FeedTurns {
  readonly waiting: (() => void)[] = [];
  isHeld = false;

  override get isOver(): boolean {
    return this.isHeld;
  }

  override wait(one: { goOn(): void }): void {
    this.waiting.push(() => one.goOn());
  }

  goOn(): void {
    for (const goOn of this.waiting.splice(0)) goOn();
  }
}

interface Talk {
  server: Server;
  turns: HeldTurns;
  /** Both ends of one connection. */
  client: Socket;
  socket: Socket;
}

const HEAD = 'GET / HTTP/1.1\r\nHost: localhost\r\n';

async function talk(t: TestContext, options: object): Promise<Talk> {
  const server = createServer(options, (_request, response) => response.end('done'));
  const turns = new HeldTurns();
  closeInTurns(server, false, turns);
  feedInTurns(server, false, turns);
  server.on('clientError', refuseInTurns(turns));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const client = connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume();
  const [socket] = await accepted;
  t.after(() => {
    client.destroy();
    server.close();
  });
  return { server, turns, client, socket };
}

async function ask({ client }: Talk): Promise<void> {
  client.write(`${HEAD}\r\n`);
  await once(client, 'data');
}

const KEPT = { keepAliveTimeout: 60_000 };

const ENDS: [why: string, options: object, end: (talk: Talk) => unknown][] = [
  ['its client has gone', KEPT, ({ client }) => client.resetAndDestroy()],
  ['its client says no more', KEPT, ({ client }) => client.end()],
  ['it has been idle for too long', KEPT, ({ socket }) => socket.setTimeout(1)],
  [
    'its next head does not come in time',
    { ...KEPT, connectionsCheckingInterval: 10 },
    async ({ server, client, socket, turns }) => {
      turns.isHeld = false;
      client.write(HEAD);
      await once(socket, 'data');
      turns.isHeld = true;
      Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
    },
  ],
  ['the server closes', KEPT, ({ server }) => server.close()],
];

for (const [why, options, end] of ENDS) {
  test(`one of many connections is closed in its turn when ${why}`, async (t) => {
    const one = await talk(t, options);
    await ask(one);
    one.turns.isHeld = true;
    await end(one);
    await until(() => one.turns.waiting.length > 0);
    assert.equal(one.socket.destroyed, false);
    one.turns.isHeld = false;
    one.turns.goOn();
    await until(() => one.socket.closed);
  });
}

test('who asks before the turn comes in which the connection was to be closed is answered', async (t) => {
  const one = await talk(t, KEPT);
  await ask(one);
  one.turns.isHeld = true;
  one.server.closeIdleConnections();
  assert.equal(one.turns.waiting.length, 1);
  one.turns.isHeld = false;
  await ask(one);
  one.turns.goOn();
  assert.equal(one.socket.destroyed, false);
});

const AT_ONCE: [what: string, close: (talk: Talk) => unknown][] = [
  ['what this server closes to make room', ({ socket }) => socket.destroy()],
  ['what fails in another way', ({ socket }) => socket.destroy(new Error('write EPIPE'))],
  [
    'who says what is no request',
    ({ server, socket }) => {
      const error = Object.assign(new Error('no method'), { code: 'HPE_INVALID_METHOD' });
      server.emit('clientError', error, socket);
    },
  ],
];
for (const [what, close] of AT_ONCE) {
  test(`${what} waits for no turn`, async (t) => {
    const one = await talk(t, KEPT);
    one.turns.isHeld = true;
    close(one);
    assert.ok(one.socket.destroyed || one.socket.writableEnded);
    assert.equal(one.turns.waiting.length, 0);
  });
}
