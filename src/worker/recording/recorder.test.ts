import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { outputOf, readCast } from '../../../test/support/asciicast.ts';
import { MOST_CONTENT } from '../../broker/recordings/recordings/sealed-piece.ts';
import type { RecordStep } from '../../broker/recordings/recordings/step.ts';
import { Failure } from '../../core/failure.ts';
import type { Upstream } from '../upstream.ts';
import { recordConnection } from './recorder.ts';

const SHELL = {
  type: 'session',
  program: 'shell',
  pty: { term: 'xterm', columns: 80, rows: 24 },
} as const;

/** A server that takes pieces, each when it is let. */
function makeServer({ flush_ms = 1 }: { flush_ms?: number } = {}) {
  const steps: RecordStep[] = [];
  let held: PromiseWithResolvers<void> | undefined;
  let failing: Failure | undefined;
  let at_once = 0;
  let most_at_once = 0;
  const record: Upstream['record'] = async (step) => {
    at_once += 1;
    most_at_once = Math.max(most_at_once, at_once);
    await held?.promise;
    at_once -= 1;
    if (failing) throw failing;
    steps.push(step);
    return { id: `id_${steps.length}`, keeps_input: false, flush_ms };
  };
  return {
    record,
    steps,
    hold: () => {
      held = Promise.withResolvers();
    },
    go: () => {
      held?.resolve();
      held = undefined;
    },
    fail: () => {
      failing = new Failure('unavailable', 'the recording cannot be written');
    },
    mostAtOnce: () => most_at_once,
    text: () =>
      Buffer.concat(steps.flatMap((step) => ('bytes' in step ? step.bytes : []))).toString(),
  };
}

test('pieces come in their order, one after the other, numbered', async () => {
  const server = makeServer();
  const watcher = await recordConnection(server, 'sc_1');
  const channel = await watcher.openChannel(SHELL);
  let wanted = '';
  for (let at = 0; at < 50; at += 1) {
    const said = `${at} `.repeat(4_000);
    wanted += said;
    await channel.output(Buffer.from(said), 'stdout');
  }
  await channel.close({ status: 0 });
  await watcher.close({ reason: 'done' });
  assert.equal(outputOf(readCast(server.text())), wanted);
  const numbers = server.steps.flatMap((step) => ('at' in step ? step.at : []));
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at + 1),
  );
  assert.ok(numbers.length > 3);
  assert.deepEqual(
    [
      server.steps[0]?.step,
      server.steps[1]?.step,
      server.steps.at(-2)?.step,
      server.steps.at(-1)?.step,
    ],
    ['begin', 'open', 'close', 'end'],
  );
  assert.equal(server.mostAtOnce(), 1);
  const last = server.steps.at(-2);
  assert.ok(last?.step === 'close' && last.bytes_down === wanted.length);
});

test('keys that are hit one after the other are one piece', async () => {
  const server = makeServer({ flush_ms: 5_000 });
  const watcher = await recordConnection(server, 'sc_1');
  const channel = await watcher.openChannel(SHELL);
  for (let at = 0; at < 100; at += 1) await channel.output(Buffer.from('x'), 'stdout');
  await channel.close({});
  assert.deepEqual(
    server.steps.map(({ step }) => step),
    ['begin', 'open', 'close'],
  );
});

test('a server that is slow slows the stream, and no more than a bound waits', async () => {
  const server = makeServer();
  const watcher = await recordConnection(server, 'sc_1');
  const channel = await watcher.openChannel(SHELL);
  server.hold();
  let told = 0;
  const flow = (async () => {
    for (; told < 100; told += 1) await channel.output(Buffer.alloc(32_000, 'y'), 'stdout');
  })();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(told > 2 && told < 25, `${told} went on`);
  server.go();
  await flow;
  await channel.close({});
  assert.equal(outputOf(readCast(server.text())).length, 3_200_000);
});

test('all channels together have no more waiting than a bound', async () => {
  const server = makeServer({ flush_ms: 3_600_000 });
  const watcher = await recordConnection(server, 'sc_1');
  // None of them has as much as would be sent by itself.
  const channels = await Promise.all(Array.from({ length: 300 }, () => watcher.openChannel(SHELL)));
  server.hold();
  let told = 0;
  const flow = (async () => {
    for (const channel of channels) {
      await channel.output(Buffer.alloc(60_000, 'Q'), 'stdout');
      told += 1;
    }
  })();
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  assert.ok(told > 60 && told < 75, `${told} went on`);
  server.go();
  await flow;
  for (const channel of channels) await channel.close({});
  assert.equal(server.text().match(/Q/g)?.length, 300 * 60_000);
});

test('what cannot be recorded ends everything after it, and is told once', async () => {
  const server = makeServer();
  const failures: unknown[] = [];
  const options = { onFailure: (error: unknown) => failures.push(error) };
  const watcher = await recordConnection(server, 'sc_1', options);
  const channel = await watcher.openChannel(SHELL);
  const other = await watcher.openChannel(SHELL);
  await channel.output(Buffer.from('fine'), 'stdout');
  server.fail();
  await channel.output(Buffer.alloc(100_000, 'z'), 'stdout').catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  await assert.rejects(channel.output(Buffer.from('more'), 'stdout'), /cannot be written/);
  await assert.rejects(channel.close({}), /cannot be written/);
  await assert.rejects(other.close({}), /cannot be written/);
  await assert.rejects(watcher.openChannel(SHELL), /cannot be written/);
  assert.equal(failures.length, 1);
});

test('a recording that cannot be begun is none', async () => {
  const server = makeServer();
  server.fail();
  await assert.rejects(recordConnection(server, 'sc_1'), /cannot be written/);
});

test('no piece is longer than the server takes, whatever letters it has', async () => {
  const server = makeServer();
  const watcher = await recordConnection(server, 'sc_1');
  const channel = await watcher.openChannel(SHELL);
  server.hold();
  const said = '漢'.repeat(20_000);
  const flow = (async () => {
    for (let at = 0; at < 60; at += 1) await channel.output(Buffer.from(said), 'stdout');
  })();
  // As much waits by then as may.
  await new Promise((resolve) => setTimeout(resolve, 50));
  server.go();
  await flow;
  server.hold();
  await channel.output(Buffer.from(said), 'stdout');
  for (let at = 0; at < 20; at += 1) await channel.output(Buffer.from(said), 'stdout');
  const closing = channel.close({});
  server.go();
  await closing;
  assert.ok(outputOf(readCast(server.text())) === said.repeat(81), 'all of it, in its order');
  const sizes = server.steps.flatMap((step) => ('bytes' in step ? step.bytes.length : []));
  assert.ok(Math.max(...sizes) <= MOST_CONTENT, `${Math.max(...sizes)} bytes`);
  const numbers = server.steps.flatMap((step) => ('at' in step ? step.at : []));
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at + 1),
  );
  assert.equal(server.steps.filter(({ step }) => step === 'close').length, 1);
});

test('what comes after a channel was closed is refused, since it would be nowhere', async () => {
  const watcher = await recordConnection(makeServer(), 'sc_1');
  const channel = await watcher.openChannel(SHELL);
  await channel.close({});
  await assert.rejects(channel.output(Buffer.from('late'), 'stdout'), /is closed/);
});
