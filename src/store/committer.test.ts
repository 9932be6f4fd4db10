import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { Committer, type StoreLog } from './committer.ts';
import { WriteCounts } from './write-counts.ts';

/** A committer over a thread of a few lines. */
function startWith(thread: string, told: string[] = []): Promise<Committer> {
  const log: StoreLog = {
    info: () => {},
    warn: () => {},
    error: (_detail, message) => told.push(message),
  };
  const source = `import { parentPort } from 'node:worker_threads';
    const ready = () => parentPort.postMessage({ type: 'ready', engine: 'sqlite' });
    const done = (result) => parentPort.postMessage({ type: 'done', result });
    ${thread}`;
  return Committer.start({
    options: { engine: 'sqlite', file: 'unused', node: 'test' },
    log,
    counts: new WriteCounts(),
    entry: new URL(`data:text/javascript,${encodeURIComponent(source)}`),
  });
}

const SET = [{ audit: '{}' }];

const ends: [how: string, thread: string][] = [
  ['throws', `ready(); parentPort.on('message', () => { throw new Error('broken'); });`],
  ['exits', `ready(); parentPort.on('message', () => process.exit(0));`],
  ['rejects', `ready(); parentPort.on('message', async () => { throw new Error('broken'); });`],
];

for (const [how, thread] of ends) {
  test(`a thread that ${how} fails everything that waits and everything after it`, async () => {
    const told: string[] = [];
    const committer = await startWith(thread, told);
    const deaths: string[] = [];
    committer.onDeath((death) => deaths.push(death.kind));
    const inFlight = committer.commit(SET);
    const alsoWaiting = new Promise<void>((resolve, reject) =>
      setImmediate(() => committer.commit(SET).then(resolve, reject)),
    );
    await assert.rejects(inFlight, { kind: 'unavailable' });
    await assert.rejects(alsoWaiting, { kind: 'unavailable' });
    await assert.rejects(committer.commit(SET), { kind: 'unavailable' });
    assert.deepEqual(deaths, ['unavailable']);
    assert.deepEqual(told, ['the committer has ended: nothing can be written']);
    assert.equal(committer.stats().alive, false);
    await committer.close();
  });
}

test('a thread that cannot open the database says why', async () => {
  const refusing = `parentPort.postMessage({ type: 'refused', message: 'the disk is read-only' });`;
  await assert.rejects(startWith(refusing), {
    kind: 'unavailable',
    message: 'the disk is read-only',
  });
});

test('a thread that ends before it is ready fails the start', async () => {
  await assert.rejects(startWith('process.exit(3);'), { kind: 'unavailable' });
});

const ANSWER = `ready();
  parentPort.on('message', (message) => {
    if (message.type === 'close') parentPort.close();
    else {
      const { sets } = message.packed;
      parentPort.postMessage({ type: 'log', level: 'error', detail: {}, message: 'sets: ' + sets });
      done({ outcomes: Array(sets).fill(null) });
    }
  });`;

test('what comes in during one turn is one batch, and what comes in meanwhile the next', async () => {
  const told: string[] = [];
  const committer = await startWith(ANSWER, told);
  const first = Promise.all([committer.commit(SET), committer.commit(SET), committer.commit(SET)]);
  const second = new Promise((resolve) =>
    setImmediate(() => resolve(Promise.all([committer.commit(SET), committer.commit(SET)]))),
  );
  await Promise.all([first, second]);
  assert.deepEqual(told, ['sets: 3', 'sets: 2']);
  await committer.close();
});

const MIB = 1 << 20;

test('what waits is bounded in bytes: what would be too much is refused, and room comes back', async () => {
  const committer = await startWith(ANSWER);
  const record = [{ audit: 'r'.repeat(MIB) }];
  const bytes = [{ sql: 'insert', parameters: [new Uint8Array(MIB)] }];
  const outcomes = await Promise.allSettled([
    ...Array.from({ length: 40 }, () => committer.commit(record)),
    ...Array.from({ length: 50 }, () => committer.commit(bytes)),
    committer.commit([{ audit: '' }]),
  ]);
  const kinds = outcomes.map((one) => (one.status === 'rejected' ? one.reason.kind : 'done'));
  assert.deepEqual(kinds, [
    ...Array.from({ length: 80 }, () => 'done'),
    ...Array.from({ length: 11 }, () => 'unavailable'),
  ]);
  // Sixteen at once, no more.
  assert.deepEqual([committer.stats().batches, committer.stats().largest_batch], [5, 16]);
  // What is longer alone is written, also behind others.
  await Promise.all([
    committer.commit(record),
    committer.commit([{ audit: 'r'.repeat(100 * MIB) }]),
  ]);
  await Promise.all([committer.commit(record), committer.commit(record)]);
  await committer.close();
});

test('a set that was not given an outcome is an error, never a success', async () => {
  const committer = await startWith(
    `ready(); parentPort.on('message', (message) => {
      if (message.type === 'close') parentPort.close();
      else done({ outcomes: [null] });
    });`,
  );
  const [first, second] = await Promise.allSettled([committer.commit(SET), committer.commit(SET)]);
  assert.equal(first.status, 'fulfilled');
  assert.equal(second.status, 'rejected');
  await committer.close();
});

test('bytes are handed over without what lies around them, and stay with their owner', async () => {
  const committer = await startWith(
    `ready(); parentPort.on('message', (message) => {
      if (message.type === 'close') { parentPort.close(); return; }
      const { bytes } = message.packed;
      const wrong = bytes.buffer.byteLength !== 3 || bytes[0] !== 1;
      done({ outcomes: [wrong ? { kind: 'bug', message: 'shared' } : null] });
    });`,
  );
  const bytes = new Uint8Array(100_000).fill(1).subarray(50, 53);
  await committer.commit([{ sql: 'unused', parameters: [bytes] }]);
  assert.deepEqual(bytes, Uint8Array.of(1, 1, 1));
  await committer.close();
});

test('those whose sets one batch has go on in turns, in the order of the batch', async () => {
  const committer = await startWith(ANSWER);
  const spend = (milliseconds: number): void => {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
  };
  await holdsNobodyUp(async () => {
    const went: number[] = [];
    const all = Array.from({ length: 500 }, async (_, at) => {
      await committer.commit(SET);
      spend(0.2);
      went.push(at);
    });
    await Promise.all(all);
    assert.deepEqual(
      went,
      went.map((_, at) => at),
    );
    assert.equal(committer.stats().largest_batch, 500);
  });
  // Whoever waits for the end is told once all have gone on.
  let going = 500;
  for (let at = 0; at < 500; at += 1) {
    void committer.commit(SET).then(() => {
      spend(0.01);
      going -= 1;
    });
  }
  await committer.close();
  assert.equal(going, 0);
});
