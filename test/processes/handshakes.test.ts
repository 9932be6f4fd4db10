import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { gatherCrowd } from '../support/crowd.ts';
import { startWatchedTls } from '../support/watched-tls.ts';
import { isTooLong, type Watched } from '../worst-cases/measure.ts';

const CROWD = 500;
/** Only what every time is long counts. */
const ATTEMPTS = 3;

let server: Watched;
let hello: Buffer;
before(async () => {
  server = await startWatchedTls({ after }, 'rsa');
  hello = await recordHello();
});
after(() => server.stop());

/** The first that a TLS client says: for the server the costliest part of a handshake. */
async function recordHello(): Promise<Buffer> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  assert.ok(address !== null && typeof address === 'object');
  const client = connect({ port: address.port, host: '127.0.0.1', servername: 'localhost' });
  client.on('error', () => {});
  const [socket] = await once(listener, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  listener.close();
  assert.ok(Buffer.isBuffer(bytes));
  return bytes;
}

/** The status of an answer to somebody at another address, over a handshake of his own. */
function askFromElsewhere(): Promise<number> {
  const asked = { host: '127.0.0.1', port: server.port, path: '/v1/sys/health', agent: false };
  return new Promise((resolve, reject) => {
    // Certificates for names are not what this is about.
    const from = { localAddress: '127.0.0.3', rejectUnauthorized: false };
    request({ ...asked, ...from }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });
}

async function watch(pieces: readonly Buffer[]): Promise<string[]> {
  const found: string[] = [];
  const look = async (phase: string): Promise<void> => {
    assert.equal(await askFromElsewhere(), 200, phase);
    const pause = await server.takeLongest();
    if (isTooLong(pause)) found.push(`${phase}: ${pause.toFixed(0)} ms`);
  };
  await server.takeLongest();
  const crowd = await gatherCrowd(server.port, CROWD);
  await look('coming');
  for (const [n, piece] of pieces.entries()) {
    crowd.say(piece);
    await look(`piece ${n + 1}`);
  }
  crowd.leave();
  await look('leaving');
  return found;
}

const sayings: [what: string, pieces: (hello: Buffer) => Buffer[]][] = [
  ['all of a hello', (whole) => [whole]],
  ['the head of it, then the rest', (whole) => [whole.subarray(0, 5), whole.subarray(5)]],
  ['all but a byte, then that', (whole) => [whole.subarray(0, -1), whole.subarray(-1)]],
  ['nothing', () => []],
  ['what is no hello', () => [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  ['a hello and something else', (whole) => [Buffer.concat([whole, Buffer.alloc(2_000, 22)])]],
];
for (const [what, pieces] of sayings) {
  test(`five hundred handshakes of one address at once hold nobody up: ${what}`, async () => {
    let found: string[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      found = await watch(pieces(hello));
      if (found.length === 0) return;
    }
    assert.deepEqual(found, []);
  });
}

test('of handshakes that are begun and not gone on with, the oldest give way to others', async () => {
  const crowds = await Promise.all(
    [2, 4, 5, 6, 7].map((n) => gatherCrowd(server.port, 20, `127.0.0.${n}`)),
  );
  for (const crowd of crowds) crowd.say(hello);
  assert.equal(await askFromElsewhere(), 200);
  for (const crowd of crowds) crowd.leave();
  assert.equal(await askFromElsewhere(), 200);
});

/** A first message that never is whole: what follows is read as more of it. */
function makeEndless(hello: Buffer): Buffer {
  const endless = Buffer.from(hello);
  endless.writeUIntBE(0xffffff, 6, 3);
  return endless;
}

const tooLong: [what: string, first: (hello: Buffer) => Buffer][] = [
  ['a hello', (whole) => whole],
  ['a hello without an end', makeEndless],
];
for (const [what, first] of tooLong) {
  test(`who says more before being answered takes no memory for it: ${what}`, async () => {
    const before = await server.takePeak();
    const addresses = Array.from({ length: 8 }, (_, n) => `127.0.1.${n + 1}`);
    const crowds = await Promise.all(addresses.map((at) => gatherCrowd(server.port, 250, at)));
    const much = Buffer.concat([first(hello), Buffer.alloc(250 << 10, 22)]);
    for (const crowd of crowds) crowd.say(much);
    for (let asked = 0; asked < 20; asked++) assert.equal(await askFromElsewhere(), 200);
    // Half a GiB is said; 64 KiB of each may be read, 125 MiB, before it is known to be too much.
    const more = (await server.takePeak()) - before;
    for (const crowd of crowds) crowd.leave();
    assert.ok(more < 180 << 20, `${more >> 20} MiB`);
  });
}

test('a hello is understood however it is cut', async () => {
  for (const [what, pieces] of sayings.slice(0, 3)) {
    const crowd = await gatherCrowd(server.port, 1);
    const [socket] = crowd.sockets;
    assert.ok(socket);
    for (const piece of pieces(hello)) {
      crowd.say(piece);
      assert.equal(await askFromElsewhere(), 200);
    }
    const [answer] = socket.bytesRead > 0 ? [true] : await once(socket, 'data');
    assert.ok(answer, what);
    crowd.leave();
  }
});

test('a client may not begin a second handshake on its connection', async () => {
  const from = { rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const;
  const client = connect({ host: '127.0.0.1', port: server.port, ...from });
  await once(client, 'secureConnect');
  const refused = once(client, 'error');
  client.renegotiate({}, () => {});
  assert.match(String(await refused), /no renegotiation/);
  client.destroy();
});
