import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine, type Open } from '../../../test/support/engines.ts';
import { makeWorld } from '../../../test/support/session-world.ts';
import { systemCaller } from '../../access/system-caller.ts';
import { Failure } from '../../core/failure.ts';
import {
  activateSession,
  cancelCarriedSession,
  listToCut,
} from './connections/carried-session.operations.ts';
import { authorizeConnection, closeConnections, noteTraffic } from './connections/operations.ts';
import { planIdle } from './idle.operations.ts';
import { UNNOTED_MS } from './idle.ts';
import { findSession } from './store.ts';

const TOFU = 'abcdefghij0123456789';
const IDLE_SECONDS = 600;
/** A session that was not used for so long is ended. */
const LATE_MS = IDLE_SECONDS * 1000 + UNNOTED_MS;

const caller = () => systemCaller('test', 'test');

/** Does what the job does. @returns ids of those that were idle */
async function runIdle(app: Awaited<ReturnType<typeof makeWorld>>['app']): Promise<string[]> {
  const idle: string[] = [];
  for (;;) {
    const page = await planIdle(app, IDLE_SECONDS);
    if (!page) return idle.sort();
    await app.store.commit(page.effects);
    idle.push(...page.idle);
  }
}

async function makeUsed(open: Open) {
  const world = await makeWorld(open);
  const { app, makeSession } = world;
  return {
    ...world,
    async makeActive(): Promise<string> {
      const session_id = await makeSession();
      const request = { session_id, tofu_token: TOFU, version: 1 };
      await activateSession(app, caller(), request);
      return session_id;
    },
    connect: async (session_id: string, worker_id = 'w_1'): Promise<string> =>
      (await authorizeConnection(app, caller(), { session_id, worker_id })).connection_id,
    carry: (connection_id: string, bytes_up: number, bytes_down: number, worker_id = 'w_1') =>
      noteTraffic(app, worker_id, [{ connection_id, bytes_up, bytes_down }]),
    close: (connection_id: string) =>
      closeConnections(app, caller(), [
        { connection_id, bytes_up: 0, bytes_down: 0, reason: 'timed out' },
      ]),
    find: async (id: string) => {
      const session = await findSession(app.db, id);
      return [session?.status, session?.termination_reason];
    },
  };
}

const OVER = ['terminated', 'timed out'];

eachEngine('idle sessions', (open) => {
  test('a pending session that nobody uses ends, counted from its creation, and not before', async () => {
    const { app, wait, makeSession, find } = await makeUsed(open);
    const id = await makeSession();
    wait(LATE_MS - 1_000);
    const young = await makeSession();
    assert.deepEqual(await runIdle(app), []);
    wait(1_000);
    assert.deepEqual(await runIdle(app), [id]);
    assert.deepEqual(await find(id), OVER);
    assert.deepEqual(await find(young), ['pending', '']);
  });

  test('a session without a connection counts from the activation, and from the end of the last one', async () => {
    const { app, wait, makeActive, connect, close, find } = await makeUsed(open);
    const [unused, left] = [await makeActive(), await makeActive()];
    const connection = await connect(left);
    wait(LATE_MS - 1_000);
    await close(connection);
    wait(1_000);
    assert.deepEqual(await runIdle(app), [unused]);
    assert.deepEqual(await find(unused), OVER);
    wait(LATE_MS - 2_000);
    assert.deepEqual(await runIdle(app), []);
    wait(1_000);
    assert.deepEqual(await runIdle(app), [left]);
    assert.deepEqual(await find(left), OVER);
  });

  test('an open connection without a byte is cut as timed out, and its session ends with it', async () => {
    const { app, wait, makeActive, connect, close, find } = await makeUsed(open);
    const id = await makeActive();
    const [one, two] = [await connect(id), await connect(id, 'w_2')];
    wait(LATE_MS);
    assert.deepEqual(await listToCut(app), []);
    assert.deepEqual(await runIdle(app), [id]);
    const [cut, ...others] = await listToCut(app);
    assert.deepEqual([cut?.session_id, cut?.reason, others], [id, 'timed out', []]);
    assert.deepEqual(cut?.worker_ids.toSorted(), ['w_1', 'w_2']);
    assert.deepEqual(await runIdle(app), [], 'once');
    await assert.rejects(connect(id), (error) => error instanceof Failure);
    await close(one);
    assert.deepEqual(await find(id), ['active', '']);
    await close(two);
    assert.deepEqual(await find(id), OVER);
  });

  const trickles: [what: string, up: number, down: number][] = [
    ['a byte up', 1, 0],
    ['a byte down', 0, 1],
  ];
  for (const [what, up, down] of trickles) {
    test(`${what} at every half of the time keeps a session; the same number told again does not`, async () => {
      const { app, wait, makeActive, connect, carry, find } = await makeUsed(open);
      const [id, silent] = [await makeActive(), await makeActive()];
      const connection = await connect(id);
      const other = await connect(silent);
      await carry(other, 7, 7);
      for (let n = 1; n <= 6; n++) {
        wait((IDLE_SECONDS * 1000) / 2);
        await carry(connection, n * up, n * down);
        // As of a worker that has come anew and knows nothing of what it has told.
        await carry(other, 7, 7);
        assert.deepEqual(await runIdle(app), n === 3 ? [silent] : []);
      }
      assert.deepEqual(await find(id), ['active', '']);
      wait(LATE_MS);
      await carry(connection, 6 * up, 6 * down);
      assert.deepEqual(await runIdle(app), [id]);
    });
  }

  test('one connection of several, at whichever worker, keeps the session', async () => {
    const { app, wait, makeActive, connect, carry, close } = await makeUsed(open);
    const id = await makeActive();
    await connect(id);
    const busy = await connect(id, 'w_2');
    const gone = await connect(id, 'w_3');
    wait(LATE_MS / 2);
    await close(gone);
    wait(LATE_MS / 2 - 1_000);
    await carry(busy, 0, 1, 'w_2');
    wait(LATE_MS / 2);
    assert.deepEqual(await runIdle(app), []);
    wait(LATE_MS / 2);
    assert.deepEqual(await runIdle(app), [id]);
  });

  test('who begins to use a session while it is being ended keeps it, or is refused', async () => {
    const { app, wait, makeSession, makeActive, connect, close, find } = await makeUsed(open);
    const [pending, active, left] = [await makeSession(), await makeActive(), await makeActive()];
    const fleeting = await makeActive();
    const all = [pending, active, left, fleeting];
    const before = await connect(left);
    wait(LATE_MS);
    const page = await planIdle(app, IDLE_SECONDS);
    assert.deepEqual(page?.idle.toSorted(), all.toSorted());
    const request = { session_id: pending, tofu_token: TOFU, version: 1 };
    await activateSession(app, caller(), request);
    await connect(active);
    await close(before);
    await close(await connect(fleeting));
    await app.store.commit(page?.effects ?? []);
    for (const id of all) assert.deepEqual(await find(id), ['active', '']);
    assert.deepEqual(await runIdle(app), []);
  });

  test('of 8 sessions with a first connection at the moment of their end each is one or the other', async () => {
    const { app, wait, makeActive, connect, find } = await makeUsed(open);
    const ids = await Promise.all(Array.from({ length: 8 }, makeActive));
    wait(LATE_MS);
    const [, ...opened] = await Promise.allSettled([runIdle(app), ...ids.map((id) => connect(id))]);
    for (const [at, id] of ids.entries()) {
      const isOpen = opened[at]?.status === 'fulfilled';
      assert.deepEqual(await find(id), isOpen ? ['active', ''] : OVER);
    }
  });

  test('a session that is canceled or has run out is left to what ends it', async () => {
    const { app, wait, makeActive, connect } = await makeUsed(open);
    const canceled = await makeActive();
    await connect(canceled);
    await cancelCarriedSession(app, caller(), canceled);
    wait(3_600_000);
    assert.deepEqual(await runIdle(app), []);
  });

  test('hundreds of idle sessions end in pages', async () => {
    const { app, wait, makeSession } = await makeUsed(open);
    for (let n = 0; n < 450; n++) await makeSession();
    wait(LATE_MS);
    assert.equal((await runIdle(app)).length, 450);
  });
});
