import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { CONNECTION_DEFAULTS, type ConnectionLimits } from '../../src/config/connections.ts';
import { openTalk, type Talk, until } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

const ON_ONE = { on_one: 'the listener is looked into' };
const FIRST = '127.0.0.2';
const SECOND = '127.0.0.3';
const HEALTH = 'GET /v1/sys/health HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LOG_IN =
  'POST /v1/auth/userpass/login/ann HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n';

/** Opens a connection, and waits until it is let in: those that come by several doors may be so in any order. */
async function open(client: Client, localAddress = FIRST): Promise<Talk> {
  const isLetIn = once(client.running.http.server, 'connection');
  const talk = await openTalk(client, localAddress);
  await isLetIn;
  return talk;
}

const limited = (
  t: Parameters<typeof startTestServer>[0],
  change: Partial<ConnectionLimits>,
): Promise<Client> =>
  startTestServer(t, { ...ON_ONE, config: { connections: { ...CONNECTION_DEFAULTS, ...change } } });

describe('a client that is too slow is not waited for', () => {
  const short = { header_ms: 200, request_ms: 400, idle_ms: 200 };

  test('that says nothing', async (t) => {
    const { closed } = await open(await limited(t, short));
    assert.match(await closed, /^HTTP\/1.1 408 |^$/);
  });

  test('that sends a head byte by byte', async (t) => {
    const { socket, closed } = await open(await limited(t, short));
    const text = [...HEALTH].values();
    const timer = setInterval(() => socket.write(text.next().value ?? 'x'), 50);
    assert.match(await closed, /^HTTP\/1.1 408 /);
    clearInterval(timer);
  });

  test('that sends a body byte by byte', async (t) => {
    // What is asked for before the slow one must not be slow itself, on any machine.
    const client = await limited(t, { header_ms: 1_500, request_ms: 1_500 });
    await client.call('POST', 'sys/auth/userpass', { type: 'userpass' });
    const { socket, closed } = await open(client);
    socket.write(LOG_IN);
    const timer = setInterval(() => socket.write(' '), 100);
    assert.match(await closed, /^HTTP\/1.1 (408|400) /);
    clearInterval(timer);
  });

  test('that has been answered and asks nothing more', async (t) => {
    const { socket, closed } = await open(await limited(t, { idle_ms: short.idle_ms }));
    socket.write(HEALTH);
    assert.match(await closed, /^HTTP\/1.1 200 /);
  });

  test('that does not take a long answer', async (t) => {
    const client = await limited(t, { answer_ms: 300 });
    const { socket, closed } = await open(client);
    // The document of all endpoints, again and again: more than the buffers between the two hold.
    const get =
      'GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\n\r\n';
    socket.pause();
    socket.write(get.repeat(30));
    await untilGone(client);
    socket.resume();
    await closed;
  });
});

/** Until the server has no connection any more. */
async function untilGone({ running }: Client): Promise<void> {
  while (running.http.countConnections() > 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('connections are bounded', () => {
  test('one too many of an address takes the place of its longest unused, and of nobody else’s', async (t) => {
    const client = await limited(t, { max_connections_per_address: 3 });
    const other = await open(client, SECOND);
    const idle = [await open(client), await open(client), await open(client)];
    // The first has been of use since.
    idle[0]?.socket.write(HEALTH);
    await idle[0]?.answers(1);
    const more = await open(client);
    more.socket.write(HEALTH);
    await more.answers(1);
    await idle[1]?.closed;
    for (const still of [idle[0], idle[2], other]) {
      const before = still?.text().split('HTTP/1.1 ').length ?? 0;
      still?.socket.write(HEALTH);
      await still?.answers(before);
    }
  });

  test('one too many in all takes the place of one of the address that has most', async (t) => {
    const client = await limited(t, { max_connections: 4 });
    const flood = [await open(client), await open(client), await open(client)];
    const other = await open(client, SECOND);
    const more = await open(client, '127.0.0.4');
    more.socket.write(HEALTH);
    await more.answers(1);
    await flood[0]?.closed;
    other.socket.write(HEALTH);
    await other.answers(1);
  });

  test('who is slow to ask gives way to who asks', async (t) => {
    const client = await limited(t, { max_connections_per_address: 2 });
    await client.call('POST', 'sys/auth/userpass', { type: 'userpass' });
    const slow = [await open(client), await open(client)];
    for (const { socket } of slow) socket.write(LOG_IN);
    const more = await open(client);
    more.socket.write(HEALTH);
    await more.answers(1);
    // Which of them was heard first is not said.
    await Promise.race(slow.map(({ closed }) => closed));
    assert.equal(slow.filter(({ socket }) => socket.destroyed).length, 1);
    for (const { socket } of slow) socket.destroy();
  });

  test('a flood of requests on one connection ends it, some of them do not', async (t) => {
    const client = await limited(t, {});
    const some = await open(client);
    some.socket.write(HEALTH.repeat(20));
    await some.answers(20);
    const flood = await open(client);
    flood.socket.write(HEALTH.repeat(2_000));
    const text = await flood.closed;
    assert.ok(text.split('HTTP/1.1 ').length <= 1_000);
  });
});

describe('how a body is sent does not matter for what it costs', () => {
  const UNSEAL = 'POST /v1/sys/unseal HTTP/1.1\r\nHost: localhost\r\n';
  const chunked = (pieces: readonly string[]): string =>
    `Transfer-Encoding: chunked\r\n\r\n${pieces
      .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
      .join('')}`;
  const BODY = '{"reset":true}';

  const taken: [how: string, text: string][] = [
    ['whole', `Content-Length: ${BODY.length}\r\n\r\n${BODY}`],
    ['in one chunk', `${chunked([BODY])}0\r\n\r\n`],
    ['in a chunk for each letter', `${chunked([...BODY])}0\r\n\r\n`],
    ['with four thousand letters before it', `${chunked([...' '.repeat(4_000), BODY])}0\r\n\r\n`],
    [
      'in chunks with extensions',
      `Transfer-Encoding: chunked\r\n\r\ne;a=b\r\n${BODY}\r\n0\r\n\r\n`,
    ],
  ];
  for (const [how, text] of taken) {
    test(`${how}: taken`, async (t) => {
      const client = await startTestServer(t, ON_ONE);
      const { socket, text: said, answers } = await open(client);
      socket.write(`${UNSEAL}${text}`);
      await answers(1);
      assert.match(said(), /^HTTP\/1.1 (200|400) /);
      assert.doesNotMatch(said(), /pieces/);
      await until(() => client.running.http.held().bodies === 0);
      socket.write(HEALTH);
      await answers(2);
      socket.destroy();
    });
  }

  test('in a chunk for each of very many letters: refused, and the connection ended', async (t) => {
    const client = await startTestServer(t, ON_ONE);
    const floods = await Promise.all(Array.from({ length: 10 }, () => open(client)));
    for (const { socket } of floods) {
      socket.write(`${UNSEAL}${chunked([...' '.repeat(20_000)])}`);
    }
    for (const { closed } of floods) {
      const text = await closed;
      // Who is still sending may find the connection gone before the answer is read.
      if (text !== '') assert.match(text, /^HTTP\/1.1 400 [\s\S]*too many small pieces/);
    }
    assert.equal(client.running.http.held().bodies, 0);
  });

  test('in segments of a byte: kept in as many bytes, not what was announced', async (t) => {
    const client = await startTestServer(t, ON_ONE);
    const { socket } = await open(client);
    socket.setNoDelay(true);
    socket.write(`${UNSEAL}Content-Length: 60000\r\n\r\n`);
    for (let n = 0; n < 50; n++) {
      socket.write(' ');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => client.running.http.held().bodies > 0);
    assert.ok(client.running.http.held().bodies <= 256);
    socket.destroy();
    await until(() => client.running.http.held().bodies === 0);
  });

  test('unfinished bodies of one address come to no more than its share', async (t) => {
    const client = await startTestServer(t, ON_ONE);
    const body = ' '.repeat(900_000);
    const head =
      'POST /v1/cubbyhole/x HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\nContent-Length: 1000000\r\n\r\n';
    const slow = await Promise.all(Array.from({ length: 50 }, () => open(client)));
    for (const { socket } of slow) socket.write(head + body);
    let most = 0;
    await until(() => {
      most = Math.max(most, client.running.http.held().bodies);
      return slow.filter(({ text }) => text().startsWith('HTTP/1.1 429 ')).length >= 10;
    });
    assert.ok(most > 16 << 20 && most <= 32 << 20, `${most}`);
    const other = await open(client, SECOND);
    other.socket.write(`${UNSEAL}Content-Length: ${BODY.length}\r\n\r\n${BODY}`);
    await other.answers(1);
    assert.doesNotMatch(other.text(), /^HTTP\/1.1 429/);
    for (const { socket } of [...slow, other]) socket.destroy();
    await until(() => client.running.http.held().bodies === 0);
  });
});

describe('answers that nobody reads', () => {
  const LIST =
    'GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\n\r\n';

  test('a request is begun when the answers before it have gone', async (t) => {
    const client = await startTestServer(t, ON_ONE);
    const { socket, text, answers } = await open(client);
    socket.write(HEALTH.repeat(30));
    await answers(30);
    assert.equal(text().match(/HTTP\/1.1 200 /g)?.length, 30);
    const unread = await open(client);
    unread.socket.pause();
    unread.socket.write(LIST.repeat(30));
    await until(() => client.running.http.held().unsent > 0);
    // One answer at a time, and of it a piece: not thirty of a megabyte.
    assert.ok(client.running.http.held().unsent < 1 << 20);
    unread.socket.destroy();
    await until(() => client.running.http.held().unsent === 0);
    socket.destroy();
  });

  test('what was asked on a connection that is gone is not begun', async (t) => {
    const client = await startTestServer(t, ON_ONE);
    const { socket } = await open(client);
    socket.pause();
    socket.write(LIST.repeat(30));
    await until(() => client.running.http.held().unsent > 0);
    socket.destroy();
    await until(() => client.running.http.held().unsent === 0);
    assert.deepEqual(client.running.http.held(), { bodies: 0, unsent: 0, waiting: 0 });
  });
});

test('with 300 idle connections and 50 slow ones of one address, another is answered as ever', async (t) => {
  const client = await startTestServer(t, ON_ONE);
  const idle = await Promise.all(Array.from({ length: 300 }, () => open(client)));
  const slow = await Promise.all(Array.from({ length: 50 }, () => open(client)));
  for (const { socket } of slow) socket.write(LOG_IN.slice(0, 40));
  const healthy = await open(client, SECOND);
  for (let n = 1; n <= 20; n++) {
    healthy.socket.write(HEALTH);
    await healthy.answers(n);
  }
  assert.ok([...idle, ...slow].every(({ socket }) => !socket.destroyed));
  for (const { socket } of [...idle, ...slow, healthy]) socket.destroy();
});
