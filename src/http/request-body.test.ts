import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { buffersUsed } from '../../test/support/heap.ts';
import { SharedBytes } from '../core/fairness/shared-bytes.ts';
import { GatheredRequest } from './request-body.ts';

const LENGTH = 1_000_000;

for (const [what, pieces] of [
  ['at once', 1],
  ['in pieces', 10],
] as const) {
  test(`a body that has been read is counted, and not kept beside what is made of it: it came ${what}`, async () => {
    const shared = new SharedBytes({ total: 64 << 20, each: 32 << 20 });
    const before = await buffersUsed();
    const requests = Array.from({ length: 20 }, () => {
      const request = new GatheredRequest(new Socket());
      request.headers = { 'content-length': String(LENGTH) };
      request.gather((giveUp) => shared.hold('192.0.2.1', giveUp));
      for (let n = 0; n < pieces; n++) request.push(Buffer.alloc(LENGTH / pieces));
      request.complete = true;
      request.push(null);
      return request;
    });
    assert.ok((await buffersUsed()) - before > 19 * LENGTH, 'nobody has read them');
    for (const request of requests) {
      assert.equal((await request.readBody(1 << 20)).length, LENGTH);
    }
    const kept = (await buffersUsed()) - before;
    assert.ok(kept < 5 * LENGTH, `${kept}`);
    assert.equal(shared.held, 20 * LENGTH);
    for (const request of requests) request.release();
    assert.equal(shared.held, 0);
  });
}

const SHORT = 1 << 10;

/** A request of so many bytes, and what is counted of it; `comes` tells how many have come. */
function announced(bytes: number, given: { waits?: boolean; comes?: number } = {}) {
  const shared = new SharedBytes({ total: 1 << 20, each: 1 << 20 });
  const request = new GatheredRequest(new Socket());
  request.headers = { 'content-length': String(bytes) };
  request.gather((giveUp) => shared.hold('192.0.2.1', giveUp), given.waits);
  const { comes = bytes } = given;
  request.push(Buffer.alloc(comes));
  if (comes === bytes) {
    request.complete = true;
    request.push(null);
  }
  return { request, shared };
}

for (const [what, bytes, given, held] of [
  ['short', SHORT, {}, 0],
  ['short, and half of it has come', SHORT, { comes: SHORT / 2 }, 0],
  ['a byte longer', SHORT + 1, {}, SHORT + 1],
  ['short, of a request that waits', SHORT, { waits: true }, SHORT],
] as const) {
  test(`bytes of a body that are counted: ${what}`, () => {
    const { request, shared } = announced(bytes, given);
    assert.equal(shared.held, held);
    request.release();
    assert.equal(shared.held, 0);
  });
}

for (const [what, kept, held] of [
  ['little', 4 << 10, 0],
  ['more', (4 << 10) + 1, (4 << 10) + 1],
] as const) {
  test(`what is made of a short body is counted once it is more than that: ${what}`, async () => {
    const { request, shared } = announced(SHORT);
    await request.readBody(SHORT);
    request.keep(kept);
    assert.equal(shared.held, held);
    request.release();
    assert.equal(shared.held, 0);
  });
}

test('what is made of a short body is refused where there is no room for it', async () => {
  const { request, shared } = announced(SHORT);
  await request.readBody(SHORT);
  assert.throws(() => request.keep(2 << 20), /too many request bodies/);
  assert.equal(shared.held, 0);
});

test('what is made of a short body gives way to nobody', async () => {
  const { request, shared } = announced(SHORT);
  await request.readBody(SHORT);
  request.keep(900 << 10);
  const other = shared.hold('198.51.100.1', () => {});
  assert.equal(other.grow(200 << 10), false);
  assert.equal(request.isSpoilt, false);
});
