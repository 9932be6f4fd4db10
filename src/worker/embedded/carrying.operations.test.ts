import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../../../test/support/server.ts';
import { GRACE_MS } from '../grace.ts';
import { beginCarrying } from './carrying.operations.ts';
import { CarryingThread } from './carrying.pool.ts';

const server = await startTestServer({ after }, { jobs: [] });

for (const { past_ms, isCut } of [
  { past_ms: GRACE_MS - 1, isCut: false },
  { past_ms: GRACE_MS + 1, isCut: true },
]) {
  test(`what is carried ${isCut ? 'ends' : 'goes on'} when the store has not answered for ${past_ms} ms`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const cutAll = t.mock.method(CarryingThread.prototype, 'cutAll', () => {});
    const { app } = server.running;
    const silent = Object.create(app, {
      db: { value: { selectFrom: () => new Proxy({}, { get: (_, name) => hang(name) }) } },
    });
    const carrying = await beginCarrying(silent);
    t.after(() => carrying.close());
    void carrying.cut();
    now = past_ms;
    t.mock.timers.tick(1_000);
    assert.equal(cutAll.mock.callCount(), isCut ? 1 : 0);
  });
}

/** A query of whatever kind that is never answered. */
function hang(name: string | symbol): unknown {
  if (name === 'execute') return () => new Promise(() => {});
  return () => new Proxy({}, { get: (_, next) => hang(next) });
}
