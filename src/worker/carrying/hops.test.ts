import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import {
  firstMessage,
  frameOf,
  makeSessionSecrets,
  OPCODE,
  openRaw,
} from '../../../test/support/session-client.ts';
import { LEAF_RANDOMNESS, makeLeaf } from '../../broker/workers/root/leaf.ts';
import { makeRoot, ROOT_RANDOMNESS, type Root } from '../../broker/workers/root/root.ts';
import { Failure } from '../../core/failure.ts';
import type { Calls } from '../upstream.ts';
import { HOP_PROTOCOL, workerOf } from '../wire/hop.ts';
import { Carrier } from './carrier.ts';
import { Errands } from './errands.ts';
import { HopDesk } from './hop-desk.ts';
import { tlsOf, type WorkerCredentials } from './worker-credentials.ts';

const root = makeRoot(randomBytes(ROOT_RANDOMNESS), Date.now());

function credentialsOf(name: string, under: Root = root): WorkerCredentials {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { certificate } = makeLeaf(under, {
    name,
    subjectPublicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
    random: randomBytes(LEAF_RANDOMNESS),
    from_ms: Date.now(),
  });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { key, certificate, roots: [root.certificate] };
}

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

type Reach = Calls['reach'];

/** A worker `w_in` that others come to; what it asks is answered by `reach`. */
async function startDesk(
  t: TestContext,
  reach: (request: Reach['request'], address: string) => Promise<Reach['answer']>,
  credentials = credentialsOf('w_in'),
): Promise<{ desk: HopDesk; address: string }> {
  let address = '';
  const desk = new HopDesk(
    { reach: (request) => reach(request, address) },
    () => {},
    () => {},
  );
  desk.prove(credentials);
  const sockets = new Set<Socket>();
  const port = await listen(
    t,
    createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      desk.accept(socket);
    }),
  );
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  address = `127.0.0.1:${port}`;
  return { desk, address };
}

async function startEcho(t: TestContext): Promise<{ endpoint: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const port = await listen(
    t,
    createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => sockets.delete(socket));
      socket.write('220 ready\n');
      socket.pipe(socket);
    }),
  );
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { endpoint: `tcp://127.0.0.1:${port}`, sockets };
}

function errandsOf(t: TestContext, credentials: WorkerCredentials): Errands {
  const errands = new Errands();
  errands.prove(credentials);
  t.after(() => errands.cutAll());
  return errands;
}

async function textOf(socket: Socket, length: number): Promise<string> {
  let text = '';
  while (text.length < length) {
    const [bytes] = (await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })) as [
      Buffer,
    ];
    text += bytes.toString();
  }
  return text;
}

test('a worker brings what it has dialled to the one that wants it, and bytes flow both ways', async (t) => {
  const { endpoint, sockets } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_out'));
  const { desk } = await startDesk(t, async ({ ticket }, address) => ({
    worker_id: 'w_out',
    ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket })),
  }));
  const { socket, address, port } = await desk.reach('sc_1');
  assert.equal(`tcp://${address}:${port}`, endpoint, 'the endpoint, not the other worker');
  assert.equal(await textOf(socket, 10), '220 ready\n');
  const much = randomBytes(3 << 20).toString('latin1');
  const back = textOf(socket, Buffer.from(much, 'latin1').toString().length);
  socket.write(Buffer.from(much, 'latin1'));
  await back;
  socket.end();
  await once(socket, 'close');
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a worker tells what it has brought until that is over, and brings no more than it may', async (t) => {
  const { endpoint } = await startEcho(t);
  const errands = new Errands(1);
  errands.prove(credentialsOf('w_out'));
  t.after(() => errands.cutAll());
  const { desk } = await startDesk(t, async ({ ticket, connection_id }, address) => ({
    worker_id: 'w_out',
    ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket, connection_id })),
  }));
  assert.deepEqual(errands.brought(), []);
  const { socket } = await desk.reach('sc_1');
  assert.deepEqual(errands.brought(), ['sc_1']);
  await assert.rejects(desk.reach('sc_2'), /the worker has no room/);
  socket.destroy();
  while (errands.brought().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await desk.reach('sc_3');
  assert.deepEqual(errands.brought(), ['sc_3']);
});

test('either leg that dies ends both', async (t) => {
  const { endpoint, sockets } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_out'));
  const { desk } = await startDesk(t, async ({ ticket }, address) => ({
    worker_id: 'w_out',
    ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket })),
  }));
  const ends: ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    () => [...sockets][0]?.resetAndDestroy(),
    () => errands.cutAll(),
  ];
  for (const end of ends) {
    const { socket } = await desk.reach('sc_1');
    socket.on('error', () => {});
    socket.resume();
    const over = once(socket, 'close');
    end(socket);
    await over;
    while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test('a worker ends what it has brought of a session that is over, or a connection, and nothing else', async (t) => {
  const { endpoint, sockets } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_out'));
  let session_id = '';
  const { desk } = await startDesk(t, async ({ ticket, connection_id }, address) => {
    const errand = { endpoint, address, worker_id: 'w_in', ticket, session_id, connection_id };
    return { worker_id: 'w_out', ...(await errands.run(errand)) };
  });
  const bring = async (session: string, connection: string): Promise<Socket> => {
    session_id = session;
    const { socket } = await desk.reach(connection);
    assert.equal(await textOf(socket, 10), '220 ready\n');
    return socket;
  };
  const kept = await bring('s_1', 'sc_1');
  const bySession = await bring('s_2', 'sc_2');
  const byConnection = await bring('s_1', 'sc_3');
  // A connection to a server is of no session.
  errands.cut({ session_ids: new Set(), connection_ids: new Set(['s_1', 's_2']) });
  for (const [over, socket] of [
    [{ session_ids: new Set(['s_2', 'sc_1']), connection_ids: new Set<string>() }, bySession],
    [{ session_ids: new Set<string>(), connection_ids: new Set(['sc_3', 's_1']) }, byConnection],
  ] as const) {
    const closed = once(socket.on('error', () => {}).resume(), 'close');
    const left = sockets.size - 1;
    errands.cut(over);
    await closed;
    while (sockets.size > left) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  kept.write('still there');
  assert.equal(await textOf(kept, 11), 'still there');
});

test('a ticket is good once', async (t) => {
  const { endpoint } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_out'));
  const used: { ticket: string; address: string }[] = [];
  const { desk } = await startDesk(t, async ({ ticket }, address) => {
    used.push({ ticket, address });
    const brought = await errands.run({ endpoint, address, worker_id: 'w_in', ticket });
    return { worker_id: 'w_out', ...brought };
  });
  const { socket } = await desk.reach('sc_1');
  await textOf(socket, 10);
  const [{ ticket, address } = { ticket: '', address: '' }] = used;
  const [host = '', port] = address.split(':');
  for (const shown of [ticket, randomBytes(32).toString('base64'), ticket.slice(0, 40)]) {
    const other = connect({
      ...tlsOf(credentialsOf('w_out')),
      host,
      port: Number(port),
      ALPNProtocols: [HOP_PROTOCOL],
      checkServerIdentity: () => undefined,
    });
    other.on('error', () => {});
    await once(other, 'secureConnect');
    other.resume();
    const closed = once(other, 'close');
    other.write(Buffer.from(shown, 'base64'));
    if (shown.length < 43) other.end();
    await closed;
  }
  socket.write('still there');
  assert.equal(await textOf(socket, 11), 'still there');
});

test('a ticket that another worker shows than the one that was sent is refused', async (t) => {
  const { endpoint, sockets } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_other'));
  const { desk } = await startDesk(t, async ({ ticket }, address) => ({
    worker_id: 'w_out',
    ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket })),
  }));
  await assert.rejects(desk.reach('sc_1'), /another worker has come/);
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a worker brings nothing to another one than it was told, nor under other roots', async (t) => {
  const { endpoint } = await startEcho(t);
  const strange = makeRoot(randomBytes(ROOT_RANDOMNESS), Date.now());
  const errands = errandsOf(t, credentialsOf('w_out'));
  const bring = async ({ ticket }: Reach['request'], address: string) => ({
    worker_id: 'w_out',
    ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket })),
  });
  for (const credentials of [credentialsOf('w_iN'), credentialsOf('w_in', strange)]) {
    const { desk } = await startDesk(t, bring, credentials);
    await assert.rejects(
      desk.reach('sc_1'),
      (error) => error instanceof Failure && error.message === 'the other worker cannot be reached',
    );
  }
  const outsider = errandsOf(t, credentialsOf('w_out', strange));
  const { desk } = await startDesk(t, async ({ ticket }, address) => {
    const errand = { endpoint, address, worker_id: 'w_in', ticket };
    await outsider.run(errand).catch(() => {});
    throw new Failure('unresolved', 'nobody');
  });
  await assert.rejects(desk.reach('sc_1'), /nobody/);
});

test('an endpoint that closes while the other worker is dialled is not brought', async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  const port = await listen(
    t,
    createServer((socket) => accepted.resolve(socket)),
  );
  // The worker's own end of it, which is dialled first.
  const seen = Promise.withResolvers<void>();
  const watch = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.once('close', () => seen.resolve());
    unsubscribe('net.client.socket', watch);
  };
  const errands = errandsOf(t, credentialsOf('w_out'));
  const { desk } = await startDesk(t, () => Promise.reject(new Error('nobody asks')));
  const sockets = new Set<Socket>();
  const late = await listen(
    t,
    createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.once('close', () => sockets.delete(socket));
      void accepted.promise.then(async (endpoint) => {
        endpoint.resetAndDestroy();
        await seen.promise;
        desk.accept(socket);
      });
    }),
  );
  const ticket = randomBytes(32).toString('base64');
  const errand = { endpoint: `tcp://127.0.0.1:${port}`, worker_id: 'w_in', ticket };
  subscribe('net.client.socket', watch);
  await assert.rejects(
    errands.run({ ...errand, address: `127.0.0.1:${late}` }),
    /the endpoint has closed the connection/,
  );
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

for (const { denied_networks, isReached } of [
  { denied_networks: ['127.0.0.0/8'], isReached: false },
  { denied_networks: ['127.0.0.2/32'], isReached: true },
]) {
  test(`an address is ${isReached ? '' : 'not '}dialled where ${denied_networks} is not to be reached`, async (t) => {
    let dialled = 0;
    const port = await listen(
      t,
      createServer((socket) => {
        dialled += 1;
        socket.on('error', () => {});
      }),
    );
    const errands = errandsOf(t, credentialsOf('w_out'));
    const errand = {
      endpoint: `tcp://127.0.0.1:${port}`,
      address: 'nowhere',
      worker_id: 'w_in',
      ticket: '',
      reach: { allow_loopback: true, allowed_networks: [], denied_networks },
    };
    const because = isReached ? /the other worker cannot/ : /the endpoint cannot be reached/;
    await assert.rejects(errands.run(errand), because);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(dialled, isReached ? 1 : 0);
  });
}

test('an endpoint is let go of when the address of the other worker is none', async (t) => {
  const { endpoint, sockets } = await startEcho(t);
  const errands = errandsOf(t, credentialsOf('w_out'));
  const ticket = randomBytes(32).toString('base64');
  for (const address of ['nowhere', '127.0.0.1:70000']) {
    const errand = { endpoint, address, worker_id: 'w_in', ticket };
    await assert.rejects(errands.run(errand), /the other worker cannot be reached/);
  }
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('an endpoint that is not there is said so, and whoever comes afterwards is sent away', async (t) => {
  const errands = errandsOf(t, credentialsOf('w_out'));
  const { endpoint, sockets } = await startEcho(t);
  const gone = createServer();
  const port = await listen(t, gone);
  gone.close();
  const { desk } = await startDesk(t, async ({ ticket }, address) => {
    const errand = { endpoint, address, worker_id: 'w_in', ticket };
    await errands.run(errand);
    return {
      worker_id: 'w_out',
      ...(await errands.run({ ...errand, endpoint: `tcp://127.0.0.1:${port}` })),
    };
  });
  await assert.rejects(desk.reach('sc_1'), /the endpoint cannot be reached/);
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

const NAMES: [shown: string | undefined, id: string | undefined][] = [
  ['DNS:w_1234567890', 'w_1234567890'],
  ['DNS:gatehouse-server', 'gatehouse-server'],
  ['DNS:gatehouse-servers', undefined],
  ['DNS:w_1, DNS:w_2', undefined],
  ['DNS:w_', undefined],
  ['DNS:"w_1"', undefined],
  ['IP Address:127.0.0.1', undefined],
  ['', undefined],
  [undefined, undefined],
];
for (const [shown, id] of NAMES) {
  test(`a certificate of ${shown} is ${id ? 'a' : 'no'} worker’s`, () => {
    assert.equal(workerOf(shown), id);
  });
}

test('what another worker has brought outlives a crowd of strangers', async (t) => {
  const { endpoint } = await startEcho(t);
  const session = makeSessionSecrets();
  const errands = errandsOf(t, credentialsOf('w_out'));
  let address = '';
  const refuse = () => Promise.reject(new Failure('forbidden', 'no'));
  const carrier = new Carrier({
    lookUp: async () => ({
      ...session,
      tofu_token: '',
      version: 1,
      status: 'pending',
      expires_ms: Date.now() + 60_000,
      left_ms: 60_000,
      connection_limit: -1,
      recording_id: '',
      injects: false,
      dials: false,
      endpoint,
    }),
    activate: async () => ({ status: 'active' }),
    cancel: refuse,
    authorize: async () => ({ connection_id: 'sc_1', connections_left: -1 }),
    reach: async ({ ticket }) => ({
      worker_id: 'w_out',
      ...(await errands.run({ endpoint, address, worker_id: 'w_in', ticket })),
    }),
    connect: async () => ({ status: 'connected' }),
    logIn: refuse,
    record: () => Promise.reject(new Error('nothing is recorded')),
    close: async ({ ends }) => ({ closed: ends.length }),
  });
  carrier.prove(credentialsOf('w_in'));
  const { port } = await carrier.listen({ host: '127.0.0.1', port: 0 });
  address = `127.0.0.1:${port}`;
  t.after(() => carrier.close());
  const heard = await openRaw(session, port, firstMessage());
  await heard.frame();
  assert.equal((await heard.frame())?.payload.toString(), '220 ready\n');
  const strangers = Array.from({ length: 1_100 }, () => connectTcp(port, '127.0.0.1'));
  t.after(() => {
    for (const stranger of strangers) stranger.destroy();
  });
  // The oldest of those that have proved nothing make room for the others.
  const closes = strangers.map((stranger) =>
    once(stranger.on('error', () => {}).resume(), 'close'),
  );
  await Promise.race(closes);
  heard.socket.write(frameOf(OPCODE.binary, Buffer.from('still there')));
  assert.equal((await heard.frame())?.payload.toString(), 'still there');
});
