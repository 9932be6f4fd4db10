import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { recordFrom } from '../../../test/support/caller-record.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
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
const HEAVY = 'request.l.map(a, request.l.map(b, CertTemplate{DNSNames: ["a", "b"]})).size() > 0';

eachEngine('programs of several networks', (open) => {
  test('one that takes long, or too much memory, is alone with that', async () => {
    const { app } = await openTestApp(await open());
    await ask(app, '198.51.100.1', '"warm"');
    let areOver = 0;
    const bad = [SLOW, SLOW, HEAVY].map((expression) =>
      assert.rejects(ask(app, '192.0.2.1', expression), { kind: 'unavailable' }).finally(() => {
        areOver += 1;
      }),
    );
    for (let asked = 0; asked < 20; asked += 1) {
      assert.deepEqual(await ask(app, '198.51.100.1', '"no"'), { allowed: false, because: 'no' });
    }
    assert.equal(areOver, 0, 'they did not wait for it');
    await Promise.all(bad);
  });
});
