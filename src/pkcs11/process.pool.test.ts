import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RefusedOrder } from './orders.ts';
import { ModuleProcess } from './process.pool.ts';

const entry = join(import.meta.dirname, '../../test/support/fake-module/entry.ts');

function openModule(t: { after(end: () => Promise<void>): void }, timeout_ms = 10_000) {
  const warnings: unknown[] = [];
  const log = { warn: (told: unknown) => warnings.push(told) } as never;
  const module = new ModuleProcess({ name: 'fake', library: '/none', timeout_ms, log, entry });
  t.after(() => module.stop());
  return { module, warnings };
}

const orderFor = (label: string, pin = '1234') =>
  ({
    kind: 'sign',
    token: { token_label: 'a', pin },
    key: { label },
    mechanism: { name: 'EDDSA' },
    data: Uint8Array.of(1),
  }) as const;

async function processOf(module: ModuleProcess): Promise<string> {
  const result = await module.run(orderFor('fine'));
  assert.ok(result.type === 'bytes');
  return Buffer.from(result.bytes).toString();
}

const unavailable = { kind: 'unavailable' };

/** @returns what lets time pass; from here on none does by itself, however long a process takes to start */
function stopTime(t: TestContext): (milliseconds: number) => void {
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return (milliseconds) => {
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
}

test('orders go to one process, one after the other', async (t) => {
  const { module } = openModule(t);
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => processOf(module)));
  assert.deepEqual(others, [first, first]);
});

test('an order that takes too long ends the process, and the next one has a new one', async (t) => {
  const pass = stopTime(t);
  const { module } = openModule(t, 1_500);
  const before = await processOf(module);
  const hanging = module.run(orderFor('hang'));
  const after = processOf(module);
  pass(1_499);
  assert.equal(await Promise.race([hanging, nextTurn('waits')]), 'waits');
  pass(1);
  await assert.rejects(hanging, { ...unavailable, message: /takes too long/ });
  await assert.rejects(after, unavailable, 'not at once');
  pass(999);
  await assert.rejects(processOf(module), unavailable, 'nor soon');
  pass(1);
  assert.notEqual(await processOf(module), before);
});

test('a module that ends its process, or has lost its token, is loaded anew and asked once more', async (t) => {
  const pass = stopTime(t);
  for (const label of ['die', 'lost']) {
    const { module, warnings } = openModule(t);
    const before = await processOf(module);
    await assert.rejects(module.run(orderFor(label)), unavailable, label);
    assert.equal(warnings.length, 1);
    pass(1_000);
    assert.notEqual(await processOf(module), before, label);
  }
});

test('what is being made is not begun a second time', async (t) => {
  const { module } = openModule(t);
  const order = { ...orderFor('die'), kind: 'make pair', wanted: { key_type: 'ed25519' } } as const;
  await assert.rejects(module.run(order), unavailable);
});

test('a wrong PIN is tried once, until somebody says that it is right, and stands in no message', async (t) => {
  const { module, warnings } = openModule(t);
  const refused = async (): Promise<RefusedOrder> => {
    try {
      await module.run(orderFor('fine', 'wrong'));
    } catch (error) {
      assert.ok(error instanceof RefusedOrder && error.refusal === 'pin');
      return error;
    }
    throw new Error('taken');
  };
  assert.equal((await refused()).message, 'as told');
  assert.match((await refused()).message, /not tried again/);
  assert.ok(!JSON.stringify(warnings).includes('wrong'));
  await module.run(orderFor('fine'));
  module.forgetRefusedPin({ token_label: 'a', pin: '1234' });
  assert.match((await refused()).message, /not tried again/, 'another one is');
  module.forgetRefusedPin({ token_label: 'a', pin: 'wrong' });
  assert.equal((await refused()).message, 'as told');
});

test('a refusal leaves the process as it is', async (t) => {
  const { module } = openModule(t);
  const before = await processOf(module);
  await assert.rejects(module.run(orderFor('cannot')), { refusal: 'mechanism' });
  assert.equal(await processOf(module), before);
});

test('too many that wait are refused at once', async (t) => {
  const { module } = openModule(t);
  const all = Array.from({ length: 513 }, () => module.run(orderFor('fine')));
  assert.throws(() => module.run(orderFor('fine')), { kind: 'rate_limited' });
  await Promise.all(all);
});

test('stopped, it gives up what waits, and its process is gone', async (t) => {
  const { module } = openModule(t);
  const [pid = ''] = (await processOf(module)).split(' ');
  const waiting = [module.run(orderFor('hang')), module.run(orderFor('fine'))];
  const refused = waiting.map((one) => assert.rejects(one, unavailable));
  await module.stop();
  await Promise.all(refused);
  assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
});
