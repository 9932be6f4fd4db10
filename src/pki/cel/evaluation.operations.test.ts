import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { recordFrom } from '../../../test/support/caller-record.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Failure } from '../../core/failure.ts';
import type { CelQuestion } from './evaluate.ts';
import { CEL_BOUNDS, evaluateOnThread, newCelThread } from './evaluation.operations.ts';

function ask(app: App, address: string, expression: string) {
  const caller = testCaller(testMount({ kind: 'secret', path: 'pki/', type: 'pki' }));
  const from = { ...caller, record: { ...caller.record, ...recordFrom(address) } };
  return evaluateOnThread(app, from, questionOf(expression));
}

const questionOf = (expression: string): CelQuestion => ({
  program: { variables: [], expression },
  request: { l: Array.from({ length: 5000 }, (_, at) => at), few: Array(50).fill(0) },
  now: 0,
  use_csr: false,
  identity: undefined,
  groups: [],
});

const MUCH = 'request.l.map(a, request.few.map(b, CertTemplate{})).size() > 0 ? "a" : "b"';

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

eachEngine('the memory of programs', (open) => {
  test('a program that takes more than its thread has is refused, and the next one is evaluated', async () => {
    const { app } = await openTestApp(await open());
    const evaluate = (thread: ReturnType<typeof newCelThread>, expression: string) =>
      thread.run({ task: { kind: 'evaluate', question: questionOf(expression) } });
    // Time is not what is asked for here: looking for memory where there is none takes some.
    const deadline_ms = 60_000;
    const small = newCelThread(app, {
      deadline_ms,
      limits: { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 8 },
    });
    await assert.rejects(
      evaluate(small, MUCH),
      ({ kind, message }: Failure) => kind === 'unavailable' && /OUT_OF_MEMORY/.test(message),
    );
    assert.deepEqual(await evaluate(small, '"no"'), { allowed: false, because: 'no' });
    // What programs have is more than they may make.
    await assert.rejects(
      evaluate(newCelThread(app, { deadline_ms, limits: CEL_BOUNDS.limits }), MUCH),
      ({ kind, message }: Failure) => kind === 'invalid' && /it makes too much/.test(message),
    );
  });
});
