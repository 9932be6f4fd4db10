import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { buffersUsed } from '../../test/support/heap.ts';
import { SharedBytes } from '../core/shared-bytes.ts';
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
