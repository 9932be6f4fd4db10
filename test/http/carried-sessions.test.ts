// Sessions that carry bytes: a server with its own worker, clients and endpoints on this machine.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cancelSession, SessionRefused } from '../../src/worker/client/session-stream.ts';
import {
  allClosed,
  askEcho,
  authorizeSession,
  type Carried,
  echoTo,
  listenFor,
  makeTarget,
  openStream,
  readSessionWhen,
  untilClosed,
} from '../support/carried.ts';
import { type Broker, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import { openSecure, TOFU } from '../support/session-client.ts';

/** What ends a session ends its connections within this. */
const WITHIN_MS = 2_000;

const broker: Broker = await startBroker({ after });
const echo = await listenFor({ after }, echoTo);

async function newSession(fields: Record<string, unknown> = {}): Promise<Carried> {
  const target = await makeTarget(broker.admin, echo, fields);
  return authorizeSession(broker.admin, target);
}

test('bytes come back, and are counted with the reason of the end', async () => {
  const session = await newSession();
  const opened = await openStream(session);
  assert.equal(opened.result.connections_left, -1);
  assert.equal(await askEcho(opened, 'hello'), 'hello');
  opened.stream.end();
  await untilClosed(opened);
  const { status, connections } = await readSessionWhen(
    broker.admin,
    session.session_id,
    allClosed,
  );
  assert.equal(status, 'active');
  const [{ bytes_up, bytes_down, closed_reason } = {}] = connections;
  assert.deepEqual([bytes_up, bytes_down, closed_reason], ['5', '5', 'closed by end-user']);
});

for (const count of [16, 64]) {
  test(`${count} first connections at once on a cold session are all carried`, async () => {
    const session = await newSession();
    const opened = await Promise.all(Array.from({ length: count }, () => openStream(session)));
    const heard = await Promise.all(opened.map((one, n) => askEcho(one, `number ${n}`)));
    assert.deepEqual(
      heard,
      opened.map((_, n) => `number ${n}`),
    );
    for (const { stream } of opened) stream.destroy();
  });
}

test('of 200 connections at once exactly as many are carried as the limit allows', async () => {
  const session = await newSession({ session_connection_limit: 23 });
  const opened = await Promise.allSettled(Array.from({ length: 200 }, () => openStream(session)));
  const carried = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  assert.equal(carried.length, 23);
  const left = carried.map(({ result }) => result.connections_left).sort((a, b) => b - a);
  assert.equal(left.at(-1), 0);
  for (const one of opened) {
    if (one.status === 'fulfilled') continue;
    assert.ok(one.reason instanceof SessionRefused, String(one.reason));
    assert.equal(one.reason.message, 'unable to authorize connection');
  }
  for (const one of carried) one.stream.destroy();
  const { termination_reason, connections } = await readSessionWhen(
    broker.admin,
    session.session_id,
    ({ status }) => status === 'terminated',
  );
  assert.equal(termination_reason, 'connection limit');
  assert.ok(connections.length <= 23);
});

test('another client than the first is not let in', async () => {
  const session = await newSession();
  const opened = await openStream(session);
  await assert.rejects(openStream(session, 'zyxwvutsrq9876543210'), {
    code: 1008,
    message: 'tofu token not allowed',
  });
  assert.equal(await askEcho(opened, 'still'), 'still');
  opened.stream.destroy();
});

test('an endpoint that is not reached uses up one connection, and says so', async () => {
  const target = await makeTarget(broker.admin, 1, { session_connection_limit: 2 });
  const session = await authorizeSession(broker.admin, target);
  const opened = await openStream(session);
  assert.equal(opened.result.connections_left, 1);
  await untilClosed(opened);
  const { connections } = await readSessionWhen(broker.admin, session.session_id, allClosed);
  assert.deepEqual(
    connections.map(({ closed_reason }) => closed_reason),
    ['network error'],
  );
  const second = await openStream(session);
  assert.equal(second.result.connections_left, 0);
  await untilClosed(second);
});

type End = (session: Carried, token: string) => Promise<unknown>;
const deleting =
  (plural: string, id: (session: Carried, token: string) => Promise<string>): End =>
  async (session, token) => {
    const removed = await broker.admin('DELETE', `${plural}/${await id(session, token)}`);
    assert.equal(removed.status, 204, removed.text);
  };
const ends: [name: string, reason: string, end: End][] = [
  [
    'its cancellation',
    'canceled',
    async ({ session_id }) => {
      const { text } = await broker.admin('GET', `sessions/${session_id}`);
      const { version } = JSON.parse(text) as { version: number };
      const canceled = await broker.admin('POST', `sessions/${session_id}:cancel`, { version });
      assert.equal(canceled.status, 200, canceled.text);
    },
  ],
  ["its client's wish", 'canceled', (session) => cancelSession(session, session.address, TOFU)],
  ['the end of its target', 'canceled', deleting('targets', async (s) => s.target_id)],
  ['the end of its log-in', 'canceled', deleting('auth-tokens', async (_, t) => tokenIdOf(t))],
  [
    'the end of its user',
    'canceled',
    deleting('users', async (_, token) => {
      const read = await broker.admin('GET', `auth-tokens/${tokenIdOf(token)}`);
      return read.textAt('user_id');
    }),
  ],
];

for (const [name, reason, end] of ends) {
  test(`${name} ends what is carried within two seconds, with all that is known of it`, async () => {
    const person = await broker.person(['ids=*;type=*;actions=*']);
    const target = await makeTarget(broker.admin, echo);
    const session = await authorizeSession(broker.as(person.token), target);
    const opened = [await openStream(session), await openStream(session)];
    for (const one of opened) assert.equal(await askEcho(one, 'before'), 'before');
    const begun = performance.now();
    await end(session, person.token);
    await Promise.all(opened.map(untilClosed));
    const took = performance.now() - begun;
    assert.ok(took < WITHIN_MS, `${took} ms`);
    const shown = await readSessionWhen(
      broker.admin,
      session.session_id,
      ({ status }) => status === 'terminated',
    );
    assert.equal(shown.termination_reason, 'canceled');
    for (const { bytes_up, bytes_down, closed_reason } of shown.connections) {
      assert.deepEqual([bytes_up, bytes_down, closed_reason], ['6', '6', reason]);
    }
    assert.equal(shown.connections.length, 2);
    await assert.rejects(openStream(session));
  });
}

test('the end of its project ends what is carried within two seconds', async () => {
  const project = await broker.make('scopes', { scope_id: broker.org, name: 'short-lived' });
  const target = await makeTarget(broker.admin, echo, { scope_id: project });
  const session = await authorizeSession(broker.admin, target);
  const opened = await openStream(session);
  const begun = performance.now();
  const removed = await broker.admin('DELETE', `scopes/${project}`);
  assert.equal(removed.status, 204, removed.text);
  await untilClosed(opened);
  assert.ok(performance.now() - begun < WITHIN_MS);
});

test('a session that runs out ends within two seconds, and is told to nobody any more', async () => {
  const session = await newSession({ session_max_seconds: 1 });
  const opened = await openStream(session);
  await untilClosed(opened);
  assert.ok(Date.now() < session.expires_ms + WITHIN_MS);
  await assert.rejects(openSecure(session, session.port), { code: /ALERT_INTERNAL_ERROR/ });
  const { connections } = await readSessionWhen(broker.admin, session.session_id, allClosed);
  assert.equal(connections[0]?.closed_reason, 'timed out');
});
