import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { copyRow, numbered } from '../../../../test/support/many-rows.ts';
import { makeWorld } from '../../../../test/support/session-world.ts';
import { systemCaller } from '../../../access/system-caller.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { deleteLink } from '../../resource/links/store.ts';
import { findResource, saveResource } from '../../resource/store.ts';
import type { CancellationCause } from '../dependents.store.ts';
import { describeStates, mayFollow } from '../session.ts';
import { findSession } from '../store.ts';
import { planDependentCancellation, planDue } from '../termination.operations.ts';
import {
  activateSession,
  cancelCarriedSession,
  listToCut,
  lookUpSession,
} from './carried-session.operations.ts';
import {
  authorizeConnection,
  closeConnections,
  closeConnectionsOfWorkers,
  closeOverdue,
  connectConnection,
  noteTraffic,
} from './operations.ts';

const TOFU = 'abcdefghij0123456789';
const OTHER = '9876543210jihgfedcba';
const WORKER = { id: 'w_1', name: 'one', tags: { type: ['dev'] } };
const ENDS = {
  client_tcp_address: '127.0.0.1',
  client_tcp_port: 50_123,
  endpoint_tcp_address: '10.0.0.5',
  endpoint_tcp_port: 22,
};

const caller = () => systemCaller('test', 'test');

const activateAt = (app: App, session_id: string, version = 1, tofu_token = TOFU) =>
  activateSession(app, caller(), { session_id, tofu_token, version });

const authorize = (app: App, session_id: string, worker_id = 'w_1') =>
  authorizeConnection(app, caller(), { session_id, worker_id });

const closeAt = (app: App, ...ids: readonly string[]) =>
  closeConnections(
    app,
    caller(),
    ids.map((connection_id) => ({
      connection_id,
      bytes_up: 10,
      bytes_down: 20,
      reason: 'unknown' as const,
    })),
    'w_1',
  );

/** Does what the job does. */
async function runDue(app: App): Promise<void> {
  const page = await planDue(app);
  if (page) await app.store.commit(page.effects);
}

const refused = (kind: string, because?: RegExp) => (error: unknown) =>
  error instanceof Failure && error.kind === kind && (because?.test(error.message) ?? true);

eachEngine('sessions', (open) => {
  test('the first use makes a session active, once, and binds it to its token', async () => {
    const { app, makeSession, version, status } = await makeWorld(open);
    const id = await makeSession();
    const before = await lookUpSession(app, WORKER, id);
    assert.deepEqual(
      [before.session.status, before.tofu_token, before.version],
      ['pending', '', 1],
    );
    assert.equal(await activateAt(app, id), 'active');
    assert.equal(await version(id), 2);
    // A repeat with the token succeeds, whatever version it names; another token does not.
    assert.equal(await activateAt(app, id, 7), 'active');
    await assert.rejects(activateAt(app, id, 2, OTHER), refused('forbidden', /tofu token not/));
    await assert.rejects(activateAt(app, id, 2, 'short'), refused('invalid', /20 characters/));
    const after = await lookUpSession(app, WORKER, id);
    assert.deepEqual([await status(id), after.tofu_token, await version(id)], ['active', TOFU, 2]);
  });

  test('16 first uses at once with one token all succeed, and one of them activates', async () => {
    const { app, makeSession, version } = await makeWorld(open);
    const id = await makeSession();
    const all = await Promise.all(Array.from({ length: 16 }, () => activateAt(app, id)));
    assert.deepEqual(new Set(all), new Set(['active']));
    assert.equal(await version(id), 2);
  });

  test('of two tokens at once one has the session, the other is refused', async () => {
    const { app, makeSession } = await makeWorld(open);
    const id = await makeSession();
    const tokens = [TOFU, OTHER, TOFU, OTHER];
    const all = await Promise.allSettled(tokens.map((token) => activateAt(app, id, 1, token)));
    const winner = (await lookUpSession(app, WORKER, id)).tofu_token;
    assert.deepEqual(
      all.map(({ status }) => status === 'fulfilled'),
      tokens.map((token) => token === winner),
    );
  });

  test('nothing activates of another version, after the end, or without its target', async () => {
    const { app, makeSession, wait } = await makeWorld(open);
    const [stale, canceled, lost, late] = [
      await makeSession(),
      await makeSession(),
      await makeSession(),
      await makeSession(),
    ];
    await assert.rejects(activateAt(app, stale, 2), refused('conflict'));
    await cancelCarriedSession(app, caller(), canceled);
    await assert.rejects(activateAt(app, canceled, 2), refused('conflict'));
    wait(3_600_000);
    await assert.rejects(activateAt(app, late), refused('conflict'));
    await assert.rejects(lookUpSession(app, WORKER, late), refused('forbidden'));
    await assert.rejects(activateAt(app, 's_none'), refused('forbidden'));
    await app.store.commit(planDependentCancellation(app, { log_ins: { ids: ['at_1'] } }));
    await assert.rejects(activateAt(app, lost, 1), refused('conflict'));
  });

  test('a limit of 5 is exact under 64 connections at once, and closed ones count', async () => {
    const { app, makeSession, status } = await makeWorld(open);
    const id = await makeSession({ limit: 5 });
    await assert.rejects(authorize(app, id), refused('forbidden'), 'not before it is active');
    await activateAt(app, id);
    const all = await Promise.allSettled(Array.from({ length: 64 }, () => authorize(app, id)));
    const won = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.equal(won.length, 5);
    assert.ok(won.some(({ connections_left }) => connections_left === 0));
    assert.equal((await findSession(app.db, id))?.open_connections, 5);
    const [first, ...others] = won.map(({ connection_id }) => connection_id);
    await closeAt(app, first ?? '');
    await assert.rejects(authorize(app, id), refused('forbidden'));
    assert.equal(await status(id), 'active');
    await closeAt(app, ...others);
    const ended = await findSession(app.db, id);
    assert.deepEqual(
      [ended?.status, ended?.termination_reason],
      ['terminated', 'connection limit'],
    );
    assert.deepEqual([ended?.private_key_sealed, ended?.tofu_sealed], [null, null]);
  });

  test('connections left are counted down, and are -1 without a limit', async () => {
    const { app, makeSession } = await makeWorld(open);
    const [limited, unlimited] = [await makeSession({ limit: 2 }), await makeSession()];
    for (const id of [limited, unlimited]) await activateAt(app, id);
    assert.equal((await lookUpSession(app, WORKER, limited)).connections_left, 2);
    assert.equal((await authorize(app, limited)).connections_left, 1);
    assert.equal((await authorize(app, unlimited)).connections_left, -1);
  });

  test('a connection is connected once, by the worker that carries it, and closed once', async () => {
    const { app, makeSession } = await makeWorld(open);
    const id = await makeSession();
    await activateAt(app, id);
    const { connection_id } = await authorize(app, id);
    const connect = (worker_id: string) =>
      connectConnection(app, caller(), { connection_id, worker_id, ...ENDS });
    await assert.rejects(connect('w_2'), refused('forbidden'));
    assert.equal(await connect('w_1'), 'connected');
    await assert.rejects(connect('w_1'), refused('forbidden'));
    await noteTraffic(app, 'w_1', [{ connection_id, bytes_up: 30, bytes_down: 5 }]);
    await noteTraffic(app, 'w_2', [{ connection_id, bytes_up: 99, bytes_down: 99 }]);
    await Promise.all(Array.from({ length: 8 }, () => closeAt(app, connection_id)));
    await noteTraffic(app, 'w_1', [{ connection_id, bytes_up: 99, bytes_down: 99 }]);
    const session = await findSession(app.db, id);
    assert.deepEqual([session?.open_connections, session?.status], [0, 'active']);
    const [row] = await app.db.selectFrom('session_connection').selectAll().execute();
    // What was counted before is not counted down again.
    assert.deepEqual(
      [row?.status, row?.bytes_up, row?.bytes_down, row?.closed_reason],
      ['closed', 30, 20, 'unknown'],
    );
  });

  test('canceling with a connection open ends with it; nothing is connected meanwhile', async () => {
    const { app, makeSession, status } = await makeWorld(open);
    const id = await makeSession();
    await activateAt(app, id);
    const { connection_id } = await authorize(app, id);
    assert.equal(await cancelCarriedSession(app, caller(), id), 'canceling');
    assert.equal(await cancelCarriedSession(app, caller(), id), 'canceling');
    const late = { connection_id, worker_id: 'w_1', ...ENDS };
    await assert.rejects(connectConnection(app, caller(), late), refused('forbidden'));
    await assert.rejects(authorize(app, id), refused('forbidden'));
    await runDue(app);
    assert.equal(await status(id), 'canceling');
    assert.deepEqual(await listToCut(app), [
      { session_id: id, reason: 'canceled', worker_ids: ['w_1'] },
    ]);
    await closeAt(app, connection_id);
    assert.deepEqual(await listToCut(app), []);
    const ended = await findSession(app.db, id);
    assert.deepEqual([ended?.status, ended?.termination_reason], ['terminated', 'canceled']);
  });

  test('what is over is told to those who carry it alone, and closed when they do not', async () => {
    const { app, makeSession, status, wait } = await makeWorld(open);
    const [canceled, late, alive] = [await makeSession(), await makeSession(), await makeSession()];
    for (const id of [canceled, late, alive]) await activateAt(app, id);
    const carriers: [session_id: string, worker_id: string][] = [
      [canceled, 'w_1'],
      [canceled, 'w_1'],
      [canceled, 'w_2'],
      [late, 'w_2'],
      [alive, 'w_3'],
    ];
    for (const [id, worker_id] of carriers) await authorize(app, id, worker_id);
    await cancelCarriedSession(app, caller(), canceled);
    assert.deepEqual(
      (await listToCut(app)).map(({ session_id, worker_ids }) => [session_id, worker_ids.length]),
      [[canceled, 2]],
    );
    wait(29_000);
    assert.deepEqual(await closeOverdue(app, caller()), []);
    wait(1_000);
    assert.deepEqual((await closeOverdue(app, caller())).sort(), ['w_1', 'w_2']);
    assert.deepEqual([await status(canceled), await status(late)], ['terminated', 'active']);
    wait(3_600_000);
    assert.deepEqual((await closeOverdue(app, caller())).sort(), ['w_2', 'w_3']);
    const ended = await findSession(app.db, late);
    assert.deepEqual([ended?.status, ended?.termination_reason], ['terminated', 'timed out']);
    assert.deepEqual(await closeOverdue(app, caller()), []);
  });

  test('the job ends what has run out or is canceled, and forgets it an hour later', async () => {
    const { app, makeSession, status, version, wait } = await makeWorld(open);
    const [idle, canceled, fresh] = [await makeSession(), await makeSession(), await makeSession()];
    await cancelCarriedSession(app, caller(), canceled);
    await runDue(app);
    assert.deepEqual(
      [await status(idle), await status(canceled), await version(canceled)],
      ['pending', 'terminated', 3],
    );
    wait(3_600_000);
    await runDue(app);
    await runDue(app);
    const ended = await findSession(app.db, fresh);
    assert.deepEqual([ended?.status, ended?.termination_reason], ['terminated', 'timed out']);
    assert.equal(await status(canceled), undefined);
    assert.equal(await findResource(app.db, canceled), undefined);
    wait(3_600_000);
    await runDue(app);
    assert.equal(await planDue(app), undefined);
    const removed = await app.db.selectFrom('resource_removed').select('id').execute();
    assert.deepEqual(removed.map(({ id }) => id).sort(), [idle, canceled, fresh].sort());
  });

  test('however many connections a session has had, they are forgotten some at a time, and it with the last', async () => {
    const { app, makeSession, status, wait } = await makeWorld(open);
    const id = await makeSession({ limit: -1 });
    await activateAt(app, id);
    const { connection_id } = await authorize(app, id);
    await closeAt(app, connection_id);
    const changes = { id: numbered('id') };
    await copyRow(app.store, 'session_connection', {
      of: { id: connection_id },
      copies: 1_299,
      changes,
    });
    await cancelCarriedSession(app, caller(), id);
    await runDue(app);
    wait(3_600_000);
    const left: [connections: number, status: string | undefined][] = [];
    for (let page = 0; page < 3; page += 1) {
      await runDue(app);
      const rows = await app.db.selectFrom('session_connection').select('id').execute();
      left.push([rows.length, await status(id)]);
    }
    assert.deepEqual(left, [
      [800, 'terminated'],
      [300, 'terminated'],
      [0, undefined],
    ]);
  });

  test('run out is said before canceled', async () => {
    const { app, makeSession, wait } = await makeWorld(open);
    const id = await makeSession();
    await cancelCarriedSession(app, caller(), id);
    wait(3_600_000);
    await runDue(app);
    assert.equal((await findSession(app.db, id))?.termination_reason, 'timed out');
  });

  test('what a silent worker carried is closed, and nothing of another worker', async () => {
    const { app, makeSession } = await makeWorld(open);
    const id = await makeSession();
    await activateAt(app, id);
    await authorize(app, id, 'w_1');
    await authorize(app, id, 'w_2');
    await closeConnectionsOfWorkers(app, caller(), ['w_1']);
    const rows = await app.db
      .selectFrom('session_connection')
      .select(['worker_id', 'status', 'closed_reason'])
      .orderBy('worker_id')
      .execute();
    assert.deepEqual(rows, [
      { worker_id: 'w_1', status: 'closed', closed_reason: 'system error' },
      { worker_id: 'w_2', status: 'authorized', closed_reason: '' },
    ]);
    assert.equal((await findSession(app.db, id))?.open_connections, 1);
  });

  test('a worker that the filter does not admit is told nothing', async () => {
    const { app, makeSession } = await makeWorld(open);
    const id = await makeSession({ worker_filter: '"prod" in "/tags/type"' });
    await assert.rejects(lookUpSession(app, WORKER, id), refused('precondition'));
    const prod = { ...WORKER, tags: { type: ['prod'] } };
    assert.equal((await lookUpSession(app, prod, id)).private_key.length, 64);
  });

  test('a worker that the ingress filter admits is told whether it reaches the endpoint itself', async () => {
    const { app, makeSession } = await makeWorld(open);
    const [inner, outer] = ['"inner" in "/tags/type"', '"dev" in "/tags/type"'];
    const both = await makeSession({ worker_filter: inner, ingress_worker_filter: outer });
    assert.equal((await lookUpSession(app, WORKER, both)).dials, false);
    const two = { ...WORKER, tags: { type: ['dev', 'inner'] } };
    assert.equal((await lookUpSession(app, two, both)).dials, true);
    const one = { ...WORKER, tags: { type: ['inner'] } };
    await assert.rejects(lookUpSession(app, one, both), refused('precondition'));
    const any = await makeSession({ worker_filter: inner, ingress_worker_filter: '*' });
    assert.equal((await lookUpSession(app, WORKER, any)).dials, false);
    const none = await makeSession();
    assert.equal((await lookUpSession(app, WORKER, none)).dials, true);
  });

  const losses: [name: string, loss: CancellationCause, host: boolean, gone: object][] = [
    ['target', { target_id: 'ttcp_1' }, false, { target_id: '' }],
    ['log-in', { log_ins: { ids: ['at_1'] } }, false, { auth_token_id: '' }],
    ['user', { user_ids: ['u_1'] }, false, {}],
    ['project', { scope_ids: ['p_1'] }, false, {}],
    ['scope of the log-in', { scope_ids: ['global'] }, false, {}],
    ['address', { address_of: 'ttcp_1' }, false, {}],
    ['host', { host_ids: ['hst_1'] }, true, { host_id: '' }],
    ['host set', { of_host_sets: ['hsst_1'] }, true, { host_set_id: '' }],
    ['host catalog', { host_catalog_id: 'hcst_1' }, true, { host_id: '', host_set_id: '' }],
    ['host of the set', { host_set_id_of: 'hsst_1', host_ids: ['hst_1'] }, true, {}],
    ['host set of the target', { target_id_of: 'ttcp_1', host_set_ids: ['hsst_1'] }, true, {}],
  ];

  for (const [name, loss, host, gone] of losses) {
    test(`the loss of its ${name} cancels a session, and leaves its version`, async () => {
      const { app, makeSession } = await makeWorld(open);
      const [live, ended] = [await makeSession({ host }), await makeSession({ host })];
      const other = await makeSession({ host: !host });
      await cancelCarriedSession(app, caller(), ended);
      await runDue(app);
      const before = await findResource(app.db, live);
      await app.store.commit(planDependentCancellation(app, loss));
      const session = await findSession(app.db, live);
      assert.equal(session?.status, 'canceling');
      assert.equal(session.canceling_ms, app.now());
      assert.deepEqual({ ...session, ...gone }, session);
      const after = await findResource(app.db, live);
      assert.equal(after?.version, before?.version);
      assert.ok((after?.updated_ms ?? 0) > (before?.updated_ms ?? 0));
      assert.equal((await findSession(app.db, ended))?.status, 'terminated');
      const ofHosts = 'address_of' in loss || host;
      assert.equal((await findSession(app.db, other))?.status, ofHosts ? 'pending' : 'canceling');
    });
  }

  test('no session is made once target, log-in or host are not as they were read', async () => {
    const { app, makeSession } = await makeWorld(open);
    await app.store.commit([
      deleteLink({ from_id: 'hsst_1', kind: 'host-set-host', to_id: 'hst_1' }),
    ]);
    await assert.rejects(makeSession({ host: true }), refused('conflict'));
    await makeSession();
    const target = await findResource(app.db, 'ttcp_1');
    assert.ok(target);
    await app.store.commit([saveResource({ ...target, version: 2 }, 1)]);
    await assert.rejects(makeSession(), refused('conflict'));
  });

  test('whatever happens in whatever order, states only go forwards and each comes once', async () => {
    const { app, makeSession, wait } = await makeWorld(open);
    const seed = randomBytes(4).readUInt32BE();
    let state = seed;
    const roll = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 8; round += 1) {
      const id = await makeSession({ limit: roll(2) === 0 ? -1 : 1 + roll(2) });
      const open: string[] = [];
      const events: (() => Promise<unknown>)[] = [
        () => activateAt(app, id),
        () => authorize(app, id).then(({ connection_id }) => open.push(connection_id)),
        () => closeAt(app, ...open.splice(0, 1)),
        () => cancelCarriedSession(app, caller(), id),
        () => runDue(app),
        async () => wait(1000),
        async () => wait(roll(4) === 0 ? 3_600_000 : 1000),
        async () => app.store.commit(planDependentCancellation(app, { address_of: 'ttcp_1' })),
      ];
      let before = await findSession(app.db, id);
      for (let step = 0; step < 25; step += 1) {
        // Two at once, so that they meet.
        await Promise.allSettled([events[roll(events.length)]?.(), events[roll(3)]?.()]);
        const after = await findSession(app.db, id);
        if (!before || !after) break;
        const forwards = before.status === after.status || mayFollow(before.status, after.status);
        assert.ok(forwards, `seed ${seed}: from ${before.status} to ${after.status}`);
        assert.equal(describeStates(after)[0]?.status, after.status, `seed ${seed}`);
        for (const at of ['active_ms', 'canceling_ms', 'terminated_ms'] as const) {
          assert.ok(before[at] === null || before[at] === after[at], `seed ${seed}: ${at} changed`);
        }
        assert.ok(after.open_connections >= 0 && after.connections >= before.connections);
        before = after;
      }
    }
  });
});
