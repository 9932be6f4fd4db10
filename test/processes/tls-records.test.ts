import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import { after, before, test } from 'node:test';
import { connectForRecords } from '../support/tls-records.ts';
import { startWatchedTls } from '../support/watched-tls.ts';
import { isTooLong, type Watched } from '../worst-cases/measure.ts';

/** Only what every time is long counts. */
const ATTEMPTS = 3;

let server: Watched;
before(async () => {
  server = await startWatchedTls({ after }, 'ec');
});
after(() => server.stop());

type Client = Awaited<ReturnType<typeof connectForRecords>>;

/** As many as the server takes at once of each; the request behind them is answered when all are read. */
const SAYINGS: [what: string, clients: number, records: number, one: (by: Client) => Buffer][] = [
  ['records that ask for other keys', 20, 2_000, ({ records }) => records.update()],
  ['records of one byte', 100, 1_000, ({ records }) => records.data('\n')],
];
const REQUEST = 'GET /v1/sys/health HTTP/1.1\r\nHost: localhost\r\n\r\n';

for (const [what, count, each, one] of SAYINGS) {
  test(`who sends thousands of TLS records at once holds nobody up: ${what}`, async () => {
    const pauses: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const pause = await flood(count, each, one);
      if (!isTooLong(pause)) return;
      pauses.push(pause);
    }
    assert.deepEqual(pauses, []);
  });
}

/** @returns the longest pause of the server's loop, in milliseconds, until all was read */
async function flood(count: number, each: number, one: (by: Client) => Buffer): Promise<number> {
  const from = (n: number): string => `127.0.0.${2 + (n % 8)}`;
  const clients: Client[] = [];
  for (let n = 0; n < count; n++) clients.push(await connectForRecords(server.port, from(n)));
  const said = clients.map((client) =>
    Buffer.concat([
      ...Array.from({ length: each }, () => one(client)),
      client.records.data(REQUEST),
    ]),
  );
  await server.takeLongest();
  const answers = clients.map(({ socket }, n) => {
    socket.write(said[n] ?? Buffer.alloc(0));
    return readAnswer(socket);
  });
  assert.equal(await askFromElsewhere(), 200);
  await Promise.all(answers);
  const pause = await server.takeLongest();
  for (const { socket } of clients) socket.destroy();
  return pause;
}

test('of a long answer that was taken nothing is kept until its connection ends', async () => {
  await askInTurn(20);
  const before = await server.takePeak();
  await askInTurn(200);
  // Each answer has 300 KiB.
  const more = (await server.takePeak()) - before;
  assert.ok(more < 50 << 20, `${more >> 20} MiB`);
});

/** One client after the other asks for a long document, takes it, and stays. */
async function askInTurn(count: number): Promise<void> {
  const target = '/v1/sys/internal/specs/openapi';
  const headers = { 'x-vault-token': 'root' };
  for (let n = 0; n < count; n++) {
    const agent = new Agent({ keepAlive: true });
    after(() => agent.destroy());
    const asked = { host: '127.0.0.1', port: server.port, path: target, agent, headers };
    const length = await new Promise<number>((resolve, reject) => {
      request({ ...asked, rejectUnauthorized: false }, (response) => {
        let heard = 0;
        response.on('data', (bytes: Buffer) => {
          heard += bytes.length;
        });
        response.once('end', () => resolve(heard));
      })
        .once('error', reject)
        .end();
    });
    assert.ok(length > 300 << 10, `${length}`);
  }
}

/** Shorter records than this answer to others; one of an answer to a request is not. */
const OF_AN_ANSWER = 200;

/** Resolves when a record comes that is long. */
function readAnswer(socket: Client['socket']): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      left = Buffer.concat([left, bytes]);
      while (left.length >= 5) {
        const length = left.readUInt16BE(3);
        if (length > OF_AN_ANSWER) resolve();
        if (left.length < 5 + length) return;
        left = left.subarray(5 + length);
      }
    });
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.resume();
  });
}

/** The status of an answer to somebody at another address. */
function askFromElsewhere(): Promise<number> {
  const asked = { host: '127.0.0.1', port: server.port, path: '/v1/sys/health', agent: false };
  const from = { localAddress: '127.0.0.99', rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    request({ ...asked, ...from }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });
}
