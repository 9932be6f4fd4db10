// How many sessions a user may have at once, and how long one may be silent: `session_limits` of the configuration.

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
import { eachPlace } from '../support/engines.ts';
import { type Call, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const GRANTS = ['ids=*;type=*;actions=*'];
const REFUSED = (count: number, most: number) =>
  `The user has ${count} session${count === 1 ? ' that has' : 's that have'} not ended, and may have at most ${most} at once: cancel one first.`;

async function cancel(call: Call, id: string): Promise<void> {
  const read = await call('GET', `sessions/${id}`);
  const canceled = await call('POST', `sessions/${id}:cancel`, { version: read.field('version') });
  assert.equal(canceled.status, 200, canceled.text);
}

eachPlace('sessions of one user', (newPlace) => {
  test('of 50 that are authorized at once exactly as many are as the limit allows', async (t) => {
    const session_limits = { max_per_user: 3 };
    const place = await newPlace();
    const broker = await startBroker(t, { place, config: { session_limits } });
    const { admin, person } = broker;
    const targets = await Promise.all([22, 80, 443].map((port) => makeTarget(admin, port)));
    const [one, other] = [await person(GRANTS), await person(GRANTS)];
    const authorize = (call: Call, at = 0): Promise<Reply> =>
      call('POST', `targets/${targets[at % targets.length]}:authorize-session`, {});
    const all = await Promise.all(Array.from({ length: 50 }, (_, at) => authorize(one.call, at)));
    const made = all.filter(({ status }) => status === 200);
    assert.equal(made.length, 3);
    for (const reply of all) {
      if (reply.status === 200) continue;
      assert.equal(reply.status, 400, reply.text);
      assert.deepEqual(JSON.parse(reply.text), {
        kind: 'FailedPrecondition',
        message: REFUSED(3, 3),
      });
    }

    assert.equal((await authorize(other.call)).status, 200, 'each has as many');
    const id = made[0]?.textAt('session_id') ?? '';
    await cancel(one.call, id);
    assert.equal((await authorize(one.call)).status, 200, 'one that is canceled does not count');
    assert.equal((await authorize(one.call)).status, 400);
    // By another log-in they are the same user.
    const again = await broker.logIn(one.login_name);
    assert.equal((await authorize(broker.as(again))).status, 400);
    // Whoever administers is a user, too.
    for (let n = 0; n < 3; n++) assert.equal((await authorize(admin, n)).status, 200);
    assert.equal((await authorize(admin)).status, 400);
  });

  test('what has run out, or has used its connections up, does not count at once', async (t) => {
    // Up to the present: a client takes no certificate of later.
    let later = -600_001;
    const now = (): number => Date.now() + later;
    const session_limits = { max_per_user: 1 };
    const place = await newPlace();
    const { admin } = await startBroker(t, { place, now, config: { session_limits } });
    const echo = await listenFor(t, echoTo);
    const short = await makeTarget(admin, echo, { session_max_seconds: 600 });
    const once = await makeTarget(admin, echo, { session_connection_limit: 1 });
    const isRefused = async (): Promise<void> => {
      const reply = await admin('POST', `targets/${once}:authorize-session`, {});
      assert.deepEqual([reply.status, reply.textAt('message')], [400, REFUSED(1, 1)]);
    };
    await authorizeSession(admin, short);
    later = -2_000;
    await isRefused();
    // Nobody has ended it yet.
    later = 0;
    const session = await authorizeSession(admin, once);
    const opened = await openStream(session);
    await isRefused();
    opened.stream.end();
    await untilClosed(opened);
    await readSessionWhen(admin, session.session_id, ({ status }) => status === 'terminated');
    await authorizeSession(admin, once);
    await isRefused();
  });
});

/** Whether a session is there at the moment, by whoever may see all. */
const statusOf = async (call: Call, { session_id }: Carried): Promise<string> =>
  (await call('GET', `sessions/${session_id}`)).textAt('status');

/** The bytes of a session are told up to ten seconds later. */
const noted = (call: Call, { session_id }: Carried, bytes: number, which: 'up' | 'down') =>
  readSessionWhen(call, session_id, ({ connections }) =>
    connections.some((one) => one[`bytes_${which}`] === String(bytes)),
  );

test('a session that is silent for too long is cut as timed out; a byte in one direction keeps another one', async (t) => {
  let later = 0;
  const now = (): number => Date.now() + later;
  const session_limits = { idle_seconds: 1_000 };
  const { admin } = await startBroker(t, { now, config: { session_limits } });
  const swallow = await listenFor(t, (socket) => socket.resume());
  const speakers: { write(text: string): unknown }[] = [];
  const speaking = await listenFor(t, (socket) => {
    speakers.push(socket.resume());
  });
  const begin = async (port: number): Promise<Carried> =>
    authorizeSession(admin, await makeTarget(admin, port));

  const [silent, up, down] = [await begin(swallow), await begin(swallow), await begin(speaking)];
  const [silentOpen, upOpen, downOpen] = await Promise.all(
    [silent, up, down].map((one) => openStream(one)),
  );
  assert.ok(silentOpen && upOpen && downOpen);
  t.after(() => {
    for (const { stream } of [silentOpen, upOpen, downOpen]) stream.destroy();
  });
  const unused = await begin(swallow);
  const over = untilClosed(silentOpen);
  downOpen.stream.resume();
  for (let n = 1; n <= 3; n++) {
    upOpen.stream.write('u');
    for (const one of speakers) one.write('d');
    await Promise.all([noted(admin, up, n, 'up'), noted(admin, down, n, 'down')]);
    later += 500_000;
  }
  await over;
  const ended = await readSessionWhen(
    admin,
    silent.session_id,
    ({ status }) => status === 'terminated',
  );
  assert.equal(ended.termination_reason, 'timed out');
  assert.deepEqual(
    ended.connections.map(({ closed_reason }) => closed_reason),
    ['timed out'],
  );
  const never = await readSessionWhen(
    admin,
    unused.session_id,
    ({ status }) => status === 'terminated',
  );
  assert.equal(never.termination_reason, 'timed out');
  assert.deepEqual([await statusOf(admin, up), await statusOf(admin, down)], ['active', 'active']);
  await assert.rejects(openStream(silent));
  upOpen.stream.end();
  await readSessionWhen(admin, up.session_id, allClosed);
  later += 1_036_000;
  for (const one of [up, down]) {
    const shown = await readSessionWhen(
      admin,
      one.session_id,
      ({ status }) => status === 'terminated',
    );
    assert.equal(shown.termination_reason, 'timed out');
  }
});

test('without a limit a session may be silent, and a user may have any number', async (t) => {
  let later = 0;
  const { admin } = await startBroker(t, { now: () => Date.now() + later });
  const target = await makeTarget(admin, await listenFor(t, echoTo));
  const sessions = await Promise.all(
    Array.from({ length: 20 }, () => authorizeSession(admin, target)),
  );
  const [session] = sessions;
  assert.ok(session);
  const opened = await openStream(session);
  later += 7 * 3600 * 1000;
  assert.equal(await askEcho(opened, 'still there'), 'still there');
  await noted(admin, session, 11, 'up');
  opened.stream.destroy();
});
