import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { recordFrom } from '../../../test/support/caller-record.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Failure } from '../../core/failure.ts';
import { evaluateOnThread } from './evaluation.operations.ts';

function ask(app: App, address: string, expression: string) {
  const caller = testCaller(testMount({ kind: 'secret', path: 'pki/', type: 'pki' }));
  const from = { ...caller, record: { ...caller.record, ...recordFrom(address) } };
  return evaluateOnThread(app, from, {
    program: { variables: [], expression },
    request: { l: Array.from({ length: 5000 }, (_, at) => at) },
    now: 0,
    use_csr: false,
    identity: undefined,
    groups: [],
  });
}

const SLOW = 'request.l.all(a, request.l.all(b, now.getHours("America/New_York") >= 0))';

eachEngine('programs of several networks', (open) => {
  test('one that takes long is alone with that', async () => {
    const { app } = await openTestApp(await open());
    // Both threads are there before it is asked whether one waits for the other.
    await Promise.all(['198.51.100.1', '192.0.2.1'].map((from) => ask(app, from, '"warm"')));
    let areOver = 0;
    const slow = [SLOW, SLOW].map((expression) =>
      assert
        // By its budget, or on a busy machine by the time that it has.
        .rejects(ask(app, '192.0.2.1', expression), ({ kind }: Failure) =>
          ['invalid', 'unavailable'].includes(kind),
        )
        .finally(() => {
          areOver += 1;
        }),
    );
    assert.deepEqual(await ask(app, '198.51.100.1', '"no"'), { allowed: false, because: 'no' });
    assert.equal(areOver, 0, 'it did not wait for them');
    await Promise.all(slow);
  });
});
