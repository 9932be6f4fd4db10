import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { AnswerRing } from './answer-ring.ts';

const BYTES = 16 << 10;
const keyOf = (number: number): Uint8Array => Buffer.from(`key ${number}`);

/** An answer of which each part tells the number, and a torn one would not. */
const entryOf = (number: number) => ({
  writes: number,
  told: `${number}`.repeat(1 + (number % 50)),
  body: new Uint8Array(1 + ((number * 7) % 900)).fill(number % 251),
});

function checkWhole(number: number, found: ReturnType<AnswerRing['find']>): boolean {
  if (!found) return false;
  const { at: _, body, ...rest } = found;
  const expected = entryOf(number);
  assert.deepEqual({ ...rest, body: new Uint8Array(body) }, expected);
  return true;
}

test('what was kept last is found, however often the ring has gone round', () => {
  const ring = new AnswerRing(new SharedArrayBuffer(BYTES), 0, BYTES);
  for (let number = 0; number < 5000; number++) {
    ring.keep(keyOf(number), entryOf(number));
    assert.ok(checkWhole(number, ring.find(keyOf(number))), `${number}`);
    checkWhole(number - 10, ring.find(keyOf(number - 10)));
    assert.equal(ring.find(keyOf(number - 1000)), undefined);
  }
});

test('a number is set of what is there yet, and of nothing else', () => {
  const ring = new AnswerRing(new SharedArrayBuffer(BYTES), 0, BYTES);
  ring.keep(keyOf(0), entryOf(0));
  const at = ring.find(keyOf(0))?.at ?? 0;
  ring.setWrites(at, 99);
  assert.equal(ring.find(keyOf(0))?.writes, 99);
  for (let number = 1; number < 200; number++) ring.keep(keyOf(number), entryOf(number));
  ring.setWrites(at, 77);
  for (let number = 1; number < 200; number++) checkWhole(number, ring.find(keyOf(number)));
});

test('who reads while another thread writes finds whole answers, or none', async () => {
  const shared = new SharedArrayBuffer(BYTES);
  const ring = new AnswerRing(shared, 0, BYTES);
  const worker = new Worker(new URL('../../../test/support/ring-writer.ts', import.meta.url), {
    workerData: shared,
  });
  let found = 0;
  const until = performance.now() + 1000;
  try {
    await new Promise((resolve) => worker.once('message', resolve));
    while (performance.now() < until || found === 0) {
      for (let number = 0; number < 64; number++) {
        const one = ring.find(keyOf(number));
        if (!one) continue;
        found += 1;
        assert.equal(one.told, `${one.writes}`.repeat(one.told.length / `${one.writes}`.length));
        assert.ok(one.body.every((byte) => byte === one.writes % 251));
        assert.equal(one.writes % 64, number);
      }
      assert.ok(performance.now() < until + 20_000, 'something is found');
    }
  } finally {
    await worker.terminate();
  }
});
