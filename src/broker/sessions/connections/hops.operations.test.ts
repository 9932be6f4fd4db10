import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { makeWorld } from '../../../../test/support/session-world.ts';
import { systemCaller } from '../../../access/system-caller.ts';
import type { App } from '../../../app/app.ts';
import { listOverHops } from './hops.operations.ts';
import { closeConnections } from './operations.ts';
import { insertConnection, saveEgressWorker } from './store.ts';

const ID = 'sc_1';
const end = { connection_id: ID, bytes_up: 0, bytes_down: 0, reason: 'unknown' } as const;

const egress = (app: App, id: string) =>
  app.store.commit([saveEgressWorker(ID, 'w_front', { id, is_alone: false }, app.now())]);
const close = (app: App) => closeConnections(app, systemCaller('t', 't'), [end], 'w_front');

/** What a worker `w_inside` has brought to `w_front`. */
const BROUGHT: [what: string, make: (app: App) => Promise<void>, wait_ms: number, over: boolean][] =
  [
    ['goes on', (app) => egress(app, 'w_inside'), 3_000_000, false],
    ['is being begun', async () => {}, 69_999, false],
    ['was never begun', async () => {}, 70_000, true],
    ['another worker has brought first', (app) => egress(app, 'w_other'), 70_000, true],
    ['was closed just now', (app) => egress(app, 'w_inside').then(() => close(app)), 69_999, false],
    ['was closed', (app) => egress(app, 'w_inside').then(() => close(app)), 70_000, true],
  ];

eachEngine('what was brought to another worker', (open) => {
  for (const [what, make, wait_ms, isOver] of BROUGHT) {
    test(`a connection that ${what} is ${isOver ? '' : 'not '}over after ${wait_ms} ms`, async () => {
      const { app, wait, makeSession } = await makeWorld(open);
      const session_id = await makeSession();
      const made = { id: ID, session_id, worker_id: 'w_front' };
      const [, connection] = insertConnection(made, app.now());
      assert.ok(connection);
      await app.store.commit([connection]);
      await make(app);
      wait(wait_ms);
      assert.deepEqual(await listOverHops(app, 'w_inside', [ID]), isOver ? [ID] : []);
    });
  }

  test('one that there is not, or not any more, is over', async () => {
    const { app } = await makeWorld(open);
    assert.deepEqual(await listOverHops(app, 'w_inside', ['sc_none']), ['sc_none']);
    assert.deepEqual(await listOverHops(app, 'w_inside', []), []);
  });
});
