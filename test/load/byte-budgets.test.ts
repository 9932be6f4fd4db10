// Memory that clients' bytes may take: in all and of an address, for bodies that come and for answers
// that are not taken. Who is over it is refused in the words of the protocol; the others are served.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { CommitHolder } from '../support/held-commit.ts';
import { openTalk, type Talk, until } from '../support/raw-talk.ts';
import { reset } from '../support/reset.ts';
import { type Client, startTestServer } from '../support/server.ts';

const MIB = 1 << 20;
const TOTAL = 64 * MIB;
const EACH = 32 * MIB;

const parties = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `127.0.0.${at + 2}`);
const HEALTHY = '127.0.0.99';

const ASKED = { vault: 'POST /v1/cubbyhole/x', boundary: 'POST /v1/scopes' } as const;

const head = (asked: string, length: number): string =>
  `${asked} HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\nAuthorization: Bearer root\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

const LENGTH = 1_000_000;
/** Of a body of {@link LENGTH}, which is JSON once the last piece has come. */
const BEGINNING = `{"a":"${'b'.repeat(900_000)}`;
const REST = `${'b'.repeat(LENGTH - BEGINNING.length - 2)}"}`;

async function openAll(client: Client, addresses: readonly string[], each: number) {
  const talks = addresses.map((address) =>
    Promise.all(Array.from({ length: each }, () => openTalk(client, address))),
  );
  return (await Promise.all(talks)).flat();
}

const isRefused = ({ text }: Talk): boolean => text().startsWith('HTTP/1.1 429 ');

/** The most that is held until it is so. */
async function mostUntil(held: () => number, isSo: () => boolean): Promise<number> {
  let most = 0;
  await until(() => {
    most = Math.max(most, held());
    return isSo();
  });
  return most;
}

for (const [dialect, words] of [
  ['vault', /"errors":\["too many request bodies are under way, try again"\]/],
  ['boundary', /"kind":"[^"]+","message":"too many request bodies/],
] as const) {
  test(`unfinished bodies of many addresses come to no more than the total (${dialect})`, async (t) => {
    const client = await startTestServer(t, { on_one: 'the listener is looked into' });
    const { http } = client.running;
    const talks = await openAll(client, parties(3), 30);
    for (const { socket } of talks) socket.write(head(ASKED[dialect], LENGTH) + BEGINNING);
    const most = await mostUntil(
      () => http.held().bodies,
      () => talks.filter(isRefused).length >= 10,
    );
    assert.ok(most > TOTAL / 2 && most <= TOTAL, `${most}`);
    const [refused] = talks.filter(isRefused);
    await until(() => words.test(refused?.text() ?? ''));
    assert.match(refused?.text() ?? '', /\r\nretry-after: 1\r\n/i);

    const healthy = await openTalk(client, HEALTHY);
    healthy.socket.write(`${head('POST /v1/cubbyhole/y', 9)}{"a":"b"}`);
    await healthy.answers(1);
    assert.match(healthy.text(), /^HTTP\/1.1 204 /);
    for (const { socket } of [...talks, healthy]) socket.destroy();
    await until(() => http.held().bodies === 0);
  });
}

test('a body that was kept is answered when its rest comes, and given back then', async (t) => {
  const client = await startTestServer(t, { on_one: 'the listener is looked into' });
  const { http } = client.running;
  const talks = await openAll(client, parties(2), 5);
  for (const { socket } of talks) socket.write(head(ASKED.vault, LENGTH) + BEGINNING);
  await until(() => http.held().bodies >= 10 * BEGINNING.length);
  // Half of them hang up in the middle of it.
  for (const { socket } of talks.slice(5)) reset(socket);
  await until(() => http.held().bodies <= 5 * LENGTH * 1.1);
  const others = talks.slice(0, 5);
  for (const { socket } of others) socket.write(REST);
  for (const { answers, text } of others) {
    await answers(1);
    assert.match(text(), /^HTTP\/1.1 204 /);
  }
  await until(() => http.held().bodies === 0);
  for (const { socket } of others) socket.destroy();
});

test('a body that has been read is counted until its work is done, though its client has gone', async (t) => {
  const commits = new CommitHolder();
  const client = await startTestServer(t, { store: commits.over });
  const { http } = client.running;
  const held = commits.hold('cubbyhole/x');
  const accepting = once(http.server, 'connection');
  const { socket } = await openTalk(client, HEALTHY);
  const [accepted] = await accepting;
  socket.write(head(ASKED.vault, LENGTH) + BEGINNING + REST);
  await held.reached;
  reset(socket);
  await until(() => accepted.closed);
  assert.ok(http.held().bodies >= LENGTH, `${http.held().bodies}`);
  held.letGo();
  await until(() => http.held().bodies === 0);
});

/** Lengths of bodies with which somebody takes whatever room there is; shorter ones take none. */
const LENGTHS = [1_000_000, 100_000, 8_000, 1_025];

const bodyOf = (length: number): string => `{"a":"${'b'.repeat(length - 8)}"}`;

const OF_OTHERS: [asked: string, body: string, status: number][] = [
  ['POST /v1/cubbyhole/y', bodyOf(4_000), 204],
  ['POST /v1/auth/userpass/login/eve', '{"password":"of eve"}', 200],
  // It has been read: what is not in it is missed.
  ['POST /v1/auth-methods/ampw_1234567890:authenticate', bodyOf(4_000), 400],
];

test('requests of two networks that wait for long, as many as there is room for, leave some for a third', async (t) => {
  const commits = new CommitHolder();
  const client = await startTestServer(t, { store: commits.over });
  const { http } = client.running;
  await client.call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await client.call('POST', 'auth/userpass/users/eve', { password: 'of eve' });
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  commits.press('cubbyhole/x', () => {
    waiting += 1;
    return gate.promise;
  });
  const talks: Talk[] = [];
  const isSettled = (): boolean => waiting + talks.filter(isRefused).length === talks.length;
  const addresses = ['127.0.1.2', '127.0.1.3', '127.0.2.2', '127.0.2.3'];
  for (const length of LENGTHS) {
    // Few at a time: what has come of one that is refused is given back.
    for (let more: Talk[] = []; more.length === 0 || !more.every(isRefused); ) {
      more = await openAll(client, addresses, 1);
      talks.push(...more);
      for (const { socket } of more) socket.write(head(ASKED.vault, length) + bodyOf(length));
      await until(isSettled);
    }
  }
  const held = http.held().bodies;
  const others: Talk[] = [];
  for (const [asked, body] of OF_OTHERS) {
    const other = await openTalk(client, HEALTHY);
    others.push(other);
    other.socket.write(head(asked, body.length) + body);
    await other.answers(1);
  }
  // Nothing is judged before: the server would wait for them.
  gate.resolve();
  assert.ok(held > TOTAL * 0.7 && held < TOTAL * 0.9, `${held}`);
  for (const [at, [asked, , status]] of OF_OTHERS.entries()) {
    assert.match(others[at]?.text() ?? '', new RegExp(`^HTTP/1.1 ${status} `), asked);
  }
  for (const talk of talks) await talk.answers(1);
  await until(() => http.held().bodies === 0);
  for (const { socket } of [...talks, ...others]) socket.destroy();
});

/** Asks for a megabyte again and again, and takes nothing. */
function askForMuch({ socket }: Talk): void {
  socket.pause();
  const get = 'GET /v1/cubbyhole/much HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\n\r\n';
  socket.write(get.repeat(12));
}

const shares: [whose: string, parties: number, each: number, most: number][] = [
  ['one address', 1, 60, EACH],
  ['all addresses', 4, 28, TOTAL],
];
for (const [whose, count, each, limit] of shares) {
  test(`answers that ${whose} does not take come to no more than its share, and the next wait`, async (t) => {
    const client = await startTestServer(t, { on_one: 'the listener is looked into' });
    const { http } = client.running;
    await client.call('POST', 'cubbyhole/much', { a: 'b'.repeat(900_000) });
    const talks = await openAll(client, parties(count), each);
    for (const talk of talks) askForMuch(talk);
    const most = await mostUntil(
      () => http.held().unsent,
      () => http.held().waiting > 5 * LENGTH,
    );
    assert.ok(most > limit / 2, `${most}`);
    assert.ok(most <= limit, `${most}`);
    // Whoever takes their answers has them meanwhile, long ones too.
    const healthy = await openTalk(client, HEALTHY);
    healthy.socket.write(
      'GET /v1/cubbyhole/much HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\nConnection: close\r\n\r\n',
    );
    const answer = await healthy.closed;
    assert.match(answer, /^HTTP\/1.1 200 /);
    assert.ok(answer.length > 900_000);
    for (const { socket } of talks) socket.destroy();
    // What was being done for those who have gone is done first.
    await until(() => Object.values(http.held()).every((bytes) => bytes === 0));
  });
}

test('answers that wait to begin come to no more than a share', async (t) => {
  const client = await startTestServer(t, { on_one: 'the listener is looked into' });
  const { http } = client.running;
  await client.call('POST', 'cubbyhole/much', { a: 'b'.repeat(900_000) });
  // Who reads nothing does not see either that the server hangs up.
  let gone = 0;
  http.server.on('connection', (socket) => socket.once('close', () => gone++));
  const talks = await openAll(client, parties(1), 80);
  for (const talk of talks) askForMuch(talk);
  const most = await mostUntil(
    () => http.held().waiting,
    () => gone > 0,
  );
  assert.ok(most > LENGTH && most <= EACH, `${most}`);
  for (const { socket } of talks) socket.destroy();
  await until(() => Object.values(http.held()).every((bytes) => bytes === 0));
});
