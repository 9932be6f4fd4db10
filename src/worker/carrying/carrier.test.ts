import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import WebSocket from 'ws';
import { freePort } from '../../../test/support/free-port.ts';
import { until } from '../../../test/support/raw-talk.ts';
import {
  firstMessage,
  frameOf,
  Heard,
  makeSessionSecrets,
  OPCODE,
  openRaw,
  openSecure,
  type SecureOptions,
  TOFU,
  UPGRADE,
} from '../../../test/support/session-client.ts';
import { Failure } from '../../core/failure.ts';
import type { ConnectionEnd, SessionGrant, Upstream } from '../upstream.ts';
import { decodeHandshakeResult } from '../wire/handshake.ts';
import { Carrier } from './carrier.ts';

const session = makeSessionSecrets();
const other = makeSessionSecrets(session.session_id);
const OTHER_TOFU = 'zyxwvutsrq9876543210';

const refuse = (message = 'no') => Promise.reject(new Failure('forbidden', message));

interface Bench {
  port: number;
  carrier: Carrier;
  /** Names of what was asked, in order. */
  asked: string[];
  ends: ConnectionEnd[];
  /** When so many ends have been told. */
  ended(count: number): Promise<void>;
}

/** A carrier whose server knows one session, which leads to an echo unless the grant says otherwise. */
async function startCarrier(
  t: TestContext,
  grant: Partial<SessionGrant> = {},
  answers: Partial<Upstream> = {},
  most?: number,
): Promise<Bench> {
  const asked: string[] = [];
  const ends: ConnectionEnd[] = [];
  let wake = (): void => {};
  const endpoint = grant.endpoint ?? `tcp://127.0.0.1:${await listen(t, (s) => s.pipe(s))}`;
  const known: SessionGrant = {
    ...session,
    tofu_token: '',
    version: 1,
    status: 'pending',
    expires_ms: Date.now() + 60_000,
    left_ms: 60_000,
    connection_limit: -1,
    recording_id: '',
    injects: false,
    dials: true,
    ...grant,
    endpoint,
  };
  const begun = performance.now();
  const leftOf = (granted: SessionGrant): SessionGrant => ({
    ...granted,
    left_ms: granted.left_ms - (performance.now() - begun),
  });
  let connections = 0;
  const upstream: Upstream = {
    lookUp: ({ session_id }) =>
      session_id === known.session_id ? Promise.resolve(leftOf(known)) : refuse(),
    activate: async () => ({ status: 'active' }),
    cancel: async () => ({ status: 'canceling' }),
    authorize: async () => ({ connection_id: `sc_${++connections}`, connections_left: -1 }),
    reach: () => refuse(),
    connect: async () => ({ status: 'connected' }),
    logIn: () => refuse(),
    async close(request) {
      ends.push(...request.ends);
      wake();
      return { closed: request.ends.length };
    },
    record: () => refuse(),
    ...answers,
  };
  /** The same, and notes what was asked. */
  function noting<Request, Told>(name: string, answer: (request: Request) => Promise<Told>) {
    return (request: Request): Promise<Told> => {
      asked.push(name);
      return answer(request);
    };
  }
  const carrier = new Carrier(
    {
      lookUp: noting('lookUp', upstream.lookUp),
      activate: noting('activate', upstream.activate),
      cancel: noting('cancel', upstream.cancel),
      authorize: noting('authorize', upstream.authorize),
      reach: noting('reach', upstream.reach),
      connect: noting('connect', upstream.connect),
      logIn: noting('logIn', upstream.logIn),
      close: noting('close', upstream.close),
      record: noting('record', upstream.record),
    },
    most,
  );
  const { port } = await carrier.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => carrier.close());
  const ended = async (count: number): Promise<void> => {
    while (ends.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { port, carrier, asked, ends, ended };
}

async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const binary = (text: string): Buffer => frameOf(OPCODE.binary, Buffer.from(text));

test('what comes behind the upgrade in one piece is read whole, the hand-shake and the first bytes', async (t) => {
  const { port, asked } = await startCarrier(t);
  const first = Buffer.concat([firstMessage(), binary('one '), binary('two')]);
  const heard = await openRaw(session, port, first);
  const result = decodeHandshakeResult((await heard.frame())?.payload ?? new Uint8Array());
  assert.equal(result?.connections_left, -1);
  let text = '';
  while (text.length < 7) text += (await heard.frame())?.payload.toString();
  assert.equal(text, 'one two');
  assert.deepEqual(asked, ['lookUp', 'activate', 'authorize', 'connect']);
});

test('a first message may come byte by byte', async (t) => {
  const { port } = await startCarrier(t);
  const heard = await openRaw(session, port, new Uint8Array());
  for (const byte of firstMessage()) heard.socket.write(Buffer.from([byte]));
  assert.equal((await heard.frame())?.opcode, OPCODE.binary);
});

const refusals: [
  why: string,
  first: Uint8Array,
  closing: string,
  given?: { grant?: Partial<SessionGrant>; answers?: Partial<Upstream> },
][] = [
  ['a text', frameOf(OPCODE.text, Buffer.from('hello')), '1008 invalid handshake received'],
  ['no hand-shake', binary('hello'), '1008 invalid handshake received'],
  ['an empty token', firstMessage(''), '1003 invalid tofu token'],
  ['a token of 19', firstMessage(TOFU.slice(1)), '1003 invalid tofu token'],
  ['a token of 21', firstMessage(`${TOFU}a`), '1003 invalid tofu token'],
  ['20 letters of two bytes each', firstMessage('ä'.repeat(20)), '1003 invalid tofu token'],
  [
    'the token of another client',
    firstMessage(OTHER_TOFU),
    '1008 tofu token not allowed',
    { grant: { status: 'active', tofu_token: TOFU } },
  ],
  [
    'a token while another worker has activated for another client',
    firstMessage(),
    '1008 tofu token not allowed',
    { answers: { activate: () => refuse('tofu token not allowed') } },
  ],
  [
    'a session that is active and has no token',
    firstMessage(),
    '1011 refusing to activate session',
    { grant: { status: 'active' } },
  ],
  [
    'a session that cannot become active',
    firstMessage(),
    '1011 unable to activate session',
    { answers: { activate: () => refuse() } },
  ],
  [
    'a session that may have no more',
    firstMessage(),
    '1011 unable to authorize connection',
    { answers: { authorize: () => refuse() } },
  ],
  [
    'a server that cannot be asked',
    firstMessage(),
    '1011 worker id is empty',
    { answers: { authorize: () => Promise.reject(new Failure('unavailable', 'sealed')) } },
  ],
  [
    'a session that ended while its endpoint was dialled',
    firstMessage(),
    '1011 unable to establish proxy',
    { answers: { connect: () => refuse() } },
  ],
  ['a wish to cancel', firstMessage(TOFU, true), '1000 session canceled'],
  [
    'a wish to cancel that is refused',
    firstMessage(TOFU, true),
    '1011 unable to cancel session',
    { answers: { cancel: () => refuse() } },
  ],
  [
    'text after the hand-shake',
    Buffer.concat([firstMessage(), frameOf(OPCODE.text, Buffer.from('hello'))]),
    '1003 unexpected frame type',
  ],
];

for (const [why, first, closing, given] of refusals) {
  test(`${why} is closed with ${closing}`, async (t) => {
    const { port } = await startCarrier(t, given?.grant, given?.answers);
    const heard = await openRaw(session, port, first);
    assert.equal(await heard.closing(), closing);
    heard.socket.destroy();
  });
}

test('an endpoint that is not reached is closed with 3000 after the hand-shake, and counted', async (t) => {
  const endpoint = `tcp://127.0.0.1:${await freePort()}`;
  const { port, asked, ends, ended } = await startCarrier(t, { endpoint });
  const heard = await openRaw(session, port);
  assert.equal((await heard.frame())?.opcode, OPCODE.binary);
  assert.equal(await heard.closing(), '3000 unable to setup proxying');
  await ended(1);
  assert.equal(ends[0]?.reason, 'network error');
  assert.deepEqual(asked, ['lookUp', 'activate', 'authorize', 'close']);
});

const alerts: [why: string, alert: RegExp, options: SecureOptions, id?: string][] = [
  ['no certificate', /CERTIFICATE_REQUIRED/, { shows: null }],
  ['an unknown session', /ALERT_INTERNAL_ERROR/, {}, 's_unknown'],
  ['no session', /ALERT_INTERNAL_ERROR/, { servername: 'a.example', protocols: ['http/1.1'] }],
  ['no HTTP', /NO_APPLICATION_PROTOCOL/, { protocols: [session.session_id] }],
];

for (const [why, alert, options, id] of alerts) {
  test(`a client with ${why} hears why it is refused`, async (t) => {
    const { port } = await startCarrier(t);
    const asking = id === undefined ? session : { ...session, session_id: id };
    const refused = openSecure(asking, port, options).then(
      // In TLS 1.3 a client is done before the server has judged its certificate.
      async (secure) => {
        secure.removeAllListeners('error');
        const [error] = await once(secure, 'error');
        throw error;
      },
    );
    await assert.rejects(refused, ({ code }: NodeJS.ErrnoException) => alert.test(code ?? ''));
  });
}

test('a client with a certificate of the same name and another key is cut off', async (t) => {
  const { port, asked } = await startCarrier(t);
  const secure = await openSecure(session, port, { shows: other });
  const heard = new Heard(secure);
  secure.write(Buffer.concat([Buffer.from(UPGRADE), firstMessage()]));
  assert.equal(await heard.head(), '');
  assert.deepEqual(asked, ['lookUp']);
});

for (const [which, step_ms] of [
  ['behind', -3_600_000],
  ['ahead', 3_600_000],
] as const) {
  test(`a worker whose clock is ${which} carries a session for as long as its server says`, async (t) => {
    const now = Date.now() + step_ms;
    const { port, ends, ended } = await startCarrier(t, { left_ms: 1_500 });
    const began = performance.now();
    t.mock.method(Date, 'now', () => now);
    const heard = await openRaw(session, port);
    assert.equal((await heard.frame())?.opcode, OPCODE.binary);
    await ended(1);
    assert.ok(performance.now() - began >= 1_400);
    assert.equal(ends[0]?.reason, 'timed out');
  });
}

test('a session that runs out is told to nobody any more, although it was looked up just now', async (t) => {
  const { port } = await startCarrier(t, { left_ms: 400 });
  const heard = await openRaw(session, port);
  await heard.closed();
  await assert.rejects(openSecure(session, port), { code: /ALERT_INTERNAL_ERROR/ });
});

const heads: [why: string, from: string, to: string, status: string][] = [
  ['another path', '/v1/proxy', '/v1/other', '404'],
  ['a query', '/v1/proxy', '/v1/proxy?a=b', '101'],
  ['no subprotocol', 'Sec-WebSocket-Protocol: boundary-tcp-proxy-v1\r\n', '', '500'],
  ['another subprotocol', 'proxy-v1', 'proxy-v2', '500'],
  ['a subprotocol among others', 'boundary-tcp', 'a, boundary-tcp', '101'],
  ['no upgrade', 'Connection: Upgrade\r\n', '', '404'],
  ['the length of a body', 'Host', 'Content-Length: 5\r\nHost', '400'],
  ['a body in chunks', 'Host', 'Transfer-Encoding: chunked\r\nHost', '400'],
  ['the length of no body', 'Host', 'Content-Length: 0\r\nHost', '101'],
  ['a key that is none', 'dGhlIHNhbXBsZSBub25jZQ==', 'short', '400'],
];

for (const [why, from, to, status] of heads) {
  test(`an upgrade with ${why} is answered ${status}`, async (t) => {
    const { port } = await startCarrier(t);
    const secure = await openSecure(session, port);
    const heard = new Heard(secure);
    secure.write(UPGRADE.replace(from, to));
    assert.match(await heard.head(), new RegExp(`^HTTP/1\\.1 ${status} `));
    if (status !== '101') await heard.closed();
  });
}

test('a worker that carries as many as it may lets nobody else in, until one has left', async (t) => {
  const { port, asked } = await startCarrier(t, {}, {}, 2);
  const carried = [await openRaw(session, port), await openRaw(session, port)];
  for (const heard of carried) await heard.frame();
  const one = new Heard(await openSecure(session, port));
  one.socket.write(UPGRADE);
  assert.match(await one.head(), /^HTTP\/1\.1 503 /);
  await one.closed();
  assert.equal(asked.filter((name) => name === 'authorize').length, 2, 'no connection is used up');
  carried[1]?.socket.write(binary('still'));
  assert.equal((await carried[1]?.frame())?.payload.toString(), 'still');
  carried[0]?.socket.destroy();
  await until(() => asked.includes('close'));
  const next = await openRaw(session, port);
  assert.equal((await next.frame())?.opcode, OPCODE.binary);
});

test('a client that has proved itself has ten seconds to ask; one that is carried stays', async (t) => {
  const { port } = await startCarrier(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const silent = new Heard(await openSecure(session, port));
  const slow = new Heard(await openSecure(session, port));
  slow.socket.write(UPGRADE.slice(0, 40));
  const asking = new Heard(await openSecure(session, port));
  asking.socket.write(UPGRADE.replace('/v1/proxy', '/v1/other'));
  const carried = await openRaw(session, port);
  await carried.frame();
  t.mock.timers.tick(9_999);
  slow.socket.write(UPGRADE.slice(40));
  assert.match(await slow.head(), /^HTTP\/1\.1 101 /);
  t.mock.timers.tick(1);
  await silent.closed();
  await asking.closed();
  carried.socket.write(binary('still'));
  assert.equal((await carried.frame())?.payload.toString(), 'still');
  slow.socket.write(firstMessage());
  assert.equal((await slow.frame())?.opcode, OPCODE.binary);
});

test('a client that is cut off while it is refused ends nothing else', async (t) => {
  const { port } = await startCarrier(t);
  const good = await openRaw(session, port, Buffer.concat([firstMessage(), binary('x')]));
  for (let n = 0; n < 20; n++) {
    const secure = await openSecure(session, port);
    secure.write(UPGRADE.replace('/v1/proxy', '/v1/other').repeat(3));
    secure.destroy();
  }
  good.socket.write(binary('y'));
  let text = '';
  while (!text.includes('y')) text += (await good.frame())?.payload.toString('latin1');
});

test('a client that never reads is asked nothing: its pings are not answered without end', async (t) => {
  const { port, carrier } = await startCarrier(t);
  const heard = await openRaw(session, port);
  await heard.frame();
  heard.socket.pause();
  const pings = Buffer.concat(
    Array.from({ length: 2000 }, () => frameOf(OPCODE.ping, Buffer.alloc(125))),
  );
  const before = process.memoryUsage().external + process.memoryUsage().heapUsed;
  for (let n = 0; n < 240; n++) {
    if (!heard.socket.write(pings)) await once(heard.socket, 'drain');
  }
  const grown = process.memoryUsage().external + process.memoryUsage().heapUsed - before;
  // What other tests have left is among it: of all pings the answers would be 60 MB.
  assert.ok(grown < 32 << 20, `${grown} bytes`);
  assert.equal(carrier.carried().open.length, 1);
});

test('16 first connections at once become of one activation; another client is not let in', async (t) => {
  const { port, asked } = await startCarrier(t);
  const all = await Promise.all(Array.from({ length: 16 }, () => openRaw(session, port)));
  for (const heard of all) assert.equal((await heard.frame())?.opcode, OPCODE.binary);
  assert.equal(asked.filter((name) => name === 'lookUp').length, 1);
  assert.equal(asked.filter((name) => name === 'activate').length, 1);
  const stranger = await openRaw(session, port, firstMessage(OTHER_TOFU));
  assert.equal(await stranger.closing(), '1008 tofu token not allowed');
});

test('a client that says goodbye has left, although it stays connected', async (t) => {
  const { port, ends, ended } = await startCarrier(t);
  const secure = await openSecure(session, port);
  secure.write(Buffer.concat([Buffer.from(UPGRADE), firstMessage(), binary('12345')]));
  secure.write(frameOf(OPCODE.close, Buffer.from([3, 232])));
  secure.pause();
  await ended(1);
  assert.equal(ends[0]?.reason, 'closed by end-user');
  secure.destroy();
});

const leavings: [why: string, reason: string, leave: (heard: Heard) => void][] = [
  [
    'a client that says goodbye',
    'closed by end-user',
    ({ socket }) => socket.write(frameOf(OPCODE.close, Buffer.from([3, 232]))),
  ],
  ['a client that is gone', 'network error', ({ socket }) => socket.destroy()],
  [
    'a client that breaks the protocol',
    'network error',
    ({ socket }) => socket.write(Buffer.from([0xff, 0xff])),
  ],
];

for (const [why, reason, leave] of leavings) {
  test(`of ${why} it is told: ${reason}`, async (t) => {
    const { port, ends, ended, carrier } = await startCarrier(t);
    const heard = await openRaw(session, port, Buffer.concat([firstMessage(), binary('12345')]));
    let text = '';
    await heard.frame();
    while (text.length < 5) text += (await heard.frame())?.payload.toString();
    leave(heard);
    await ended(1);
    assert.deepEqual(ends, [{ connection_id: 'sc_1', bytes_up: 5, bytes_down: 5, reason }]);
    await until(() => carrier.carried().open.length === 0);
  });
}

test('an endpoint that ends is told as unknown, and its last bytes come before the close', async (t) => {
  const serve = (socket: Socket): void => void socket.end('last words');
  const endpoint = `tcp://127.0.0.1:${await listen(t, serve)}`;
  const { port, ends, ended } = await startCarrier(t, { endpoint });
  const heard = await openRaw(session, port);
  await heard.frame();
  assert.equal((await heard.frame())?.payload.toString(), 'last words');
  assert.equal(await heard.closing(), '1000 done');
  await ended(1);
  assert.equal(ends[0]?.reason, 'unknown');
  assert.equal(ends[0]?.bytes_down, 10);
});

for (const [what, serve, cuts] of [
  ['has ended is left to reach its client', (socket: Socket): void => void socket.end('all'), 0],
  ['goes on is cut off', (socket: Socket): void => void socket.write('some'), 1],
] as const) {
  test(`a connection that the server takes to be closed and that ${what}`, async (t) => {
    const endpoint = `tcp://127.0.0.1:${await listen(t, serve)}`;
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const { promise: heard, resolve: answer } = Promise.withResolvers<{ closed: number }>();
    const close = (): Promise<{ closed: number }> => {
      tell();
      return heard;
    };
    const { port, carrier } = await startCarrier(t, { endpoint }, { close });
    const client = await openRaw(session, port);
    await client.frame();
    await client.frame();
    if (cuts === 0) await told;
    // What a slow client has not taken yet would be lost.
    const cut = t.mock.method(WebSocket.prototype, 'terminate');
    carrier.cut([], ['sc_1']);
    assert.equal(cut.mock.callCount(), cuts);
    await told;
    answer({ closed: 1 });
  });
}

test('an endpoint that breaks off is not told as one that has ended', async (t) => {
  const serve = (socket: Socket): void =>
    void socket.write('half', () => socket.once('data', () => socket.resetAndDestroy()));
  const endpoint = `tcp://127.0.0.1:${await listen(t, serve)}`;
  const { port, ends, ended } = await startCarrier(t, { endpoint });
  const heard = await openRaw(session, port);
  await heard.frame();
  assert.equal((await heard.frame())?.payload.toString(), 'half');
  heard.socket.write(binary('x'));
  assert.equal(await heard.closing(), '1011 endpoint broke off');
  await ended(1);
  assert.equal(ends[0]?.reason, 'network error');
});

for (const [which, isTaken] of [
  ['that has taken all', true],
  ['that takes nothing', false],
] as const) {
  test(`what is cut is an end for neither side: an endpoint ${which}`, async (t) => {
    const { promise: reset, resolve } = Promise.withResolvers<unknown>();
    let theirs: Socket | undefined;
    const serve = (socket: Socket): void => {
      theirs = socket;
      socket.write('hello');
      socket.on('error', ({ message }) => resolve(message));
      socket.on('end', () => resolve('an end'));
      if (isTaken) socket.resume();
    };
    const endpoint = `tcp://127.0.0.1:${await listen(t, serve)}`;
    const { port, carrier, ended } = await startCarrier(t, { endpoint });
    const heard = await openRaw(session, port);
    await heard.frame();
    await heard.frame();
    heard.socket.write(frameOf(OPCODE.binary, Buffer.alloc(isTaken ? 10 : 16 << 20)));
    await until(() => (carrier.carried().open[0]?.bytes_up ?? 0) > 0);
    carrier.cut([{ session_id: session.session_id, reason: 'canceled' }]);
    assert.match(await heard.closing(), /^(?:1011 connection cut off|closed without a code)$/);
    await ended(1);
    theirs?.resume();
    assert.equal(await reset, 'read ECONNRESET');
  });
}

test('what is cut is closed on both sides at once, also while one of them is not read from', async (t) => {
  let endpointClosed: Promise<unknown> = Promise.resolve();
  const serve = (socket: Socket): void => {
    // It is told of a reset as well, which is what a cut may be.
    endpointClosed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(Buffer.alloc(4 << 20));
    socket.end();
    socket.resume();
  };
  const endpoint = `tcp://127.0.0.1:${await listen(t, serve)}`;
  const { port, carrier, ends, ended } = await startCarrier(t, { endpoint });
  const heard = await openRaw(session, port);
  await heard.frame();
  heard.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 200));
  carrier.cut([{ session_id: session.session_id, reason: 'canceled' }]);
  await ended(1);
  heard.socket.resume();
  await heard.closed();
  await endpointClosed;
  assert.match(ends[0]?.reason ?? '', /^(?:canceled|unknown)$/);
});

test('the client of a session that has ended is answered when it leaves, and nobody is let in', async (t) => {
  let isOver = false;
  const { port, carrier, asked } = await startCarrier(
    t,
    {},
    {
      authorize: async () => (isOver ? refuse() : { connection_id: 'sc_1', connections_left: -1 }),
    },
  );
  const heard = await openRaw(session, port);
  await heard.frame();
  isOver = true;
  carrier.cut([{ session_id: session.session_id, reason: 'canceled' }]);
  await heard.closed();
  const leaving = await openRaw(session, port, firstMessage(TOFU, true));
  assert.equal(await leaving.closing(), '1000 session canceled');
  const coming = await openRaw(session, port);
  assert.equal(await coming.closing(), '1011 unable to authorize connection');
  assert.equal(asked.filter((name) => name === 'lookUp').length, 1);
});

test('a connection that is closed in the store is ended by its id alone', async (t) => {
  const { port, carrier } = await startCarrier(t);
  const [one, two] = [await openRaw(session, port), await openRaw(session, port)];
  await one.frame();
  await two.frame();
  carrier.cut([], ['sc_1', 'sc_9']);
  await one.closed();
  assert.deepEqual(
    carrier.carried().open.map(({ connection_id }) => connection_id),
    ['sc_2'],
  );
});

test('an end that the server does not hear is told again, and is open until then', async (t) => {
  let refused = 1;
  const told: ConnectionEnd[] = [];
  const { port, carrier } = await startCarrier(
    t,
    {},
    {
      async close({ ends }) {
        if (refused-- > 0) throw new Failure('unavailable', 'not now');
        told.push(...ends);
        return { closed: ends.length };
      },
    },
  );
  const heard = await openRaw(session, port);
  await heard.frame();
  heard.socket.destroy();
  await until(() => refused === 0);
  assert.equal(carrier.carried().open.length, 1);
  await until(() => carrier.carried().open.length === 0);
  assert.deepEqual(
    told.map(({ reason }) => reason),
    ['network error'],
  );
});

/** What a server hears of a recording, and that the connection is closed, in its order. */
function noteRecording() {
  const order: string[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const notes: Pick<Upstream, 'record' | 'close'> = {
    async record({ step }) {
      order.push(step);
      return { id: 'cr_1', keeps_input: false, flush_ms: 1 };
    },
    async close() {
      order.push('close');
      resolve();
      return { closed: 1 };
    },
  };
  return { order, closed, notes };
}

test('a client that leaves before the endpoint is said to be reached has no recording begun', async (t) => {
  const { order, closed, notes } = noteRecording();
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const at = await listen(t, (socket) => socket.resume());
  const { port, carrier } = await startCarrier(
    t,
    { endpoint: `ssh://127.0.0.1:${at}`, injects: true, recording_id: 'sr_1' },
    {
      ...notes,
      async connect() {
        asked.resolve();
        await told.promise;
        return { status: 'connected' };
      },
    },
  );
  const { socket } = await openRaw(session, port, firstMessage());
  await asked.promise;
  socket.destroy();
  await closed;
  told.resolve();
  await until(() => carrier.carried().open.length === 0);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['close']);
});

test('a connection is over for the server once its recording is closed', async (t) => {
  const { order, closed, notes } = noteRecording();
  const asked = Promise.withResolvers<void>();
  const credentials = Promise.withResolvers<never>();
  const left = Promise.withResolvers<void>();
  const at = await listen(t, (socket) => socket.on('close', () => left.resolve()).resume());
  const { port } = await startCarrier(
    t,
    { endpoint: `ssh://127.0.0.1:${at}`, injects: true, recording_id: 'sr_1' },
    {
      ...notes,
      logIn() {
        asked.resolve();
        return credentials.promise;
      },
    },
  );
  const { socket } = await openRaw(session, port, firstMessage());
  await asked.promise;
  socket.destroy();
  await left.promise;
  credentials.reject(new Failure('forbidden', 'it has none'));
  await closed;
  assert.deepEqual(order, ['begin', 'end', 'close']);
});
