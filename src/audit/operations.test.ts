import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SERVER_MOUNT } from '../access/system-caller.ts';
import { createTrail } from './operations.ts';

const END = { status: 'done' as const };
const requestOf = (text: string): never =>
  ({
    request_id: 'id',
    record: {
      route: 'r',
      operation: 'read',
      path: text,
      remote_address: '',
      request: {},
      outcome: {},
      ended_before: {},
    },
    mount: SERVER_MOUNT,
  }) as never;

/** A trail above a store that takes what it is given once `write` is called. */
function trailOf() {
  const held: (() => void)[] = [];
  const commit = () => new Promise<void>((resolve) => held.push(resolve));
  const trail = createTrail({
    store: { commit } as never,
    hash: (secret) => secret,
    now: () => 0,
    wait_for_reads: false,
    onError: () => {},
  });
  return {
    trail,
    write: () => {
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

for (const [why, count, isHeldUp] of [
  ['64 MiB of them', 64, true],
  ['some less', 63, false],
] as const) {
  test(`while long records wait to be written, who asks next waits for that: ${why}`, async () => {
    const { trail, write } = trailOf();
    const text = 'p '.repeat(1 << 19);
    for (let at = 0; at < count; at++) await trail.note(requestOf(text), END);
    let isNoted = false;
    const noted = trail.note(requestOf('short'), END).then(() => {
      isNoted = true;
    });
    await turn();
    assert.equal(isNoted, !isHeldUp);
    write();
    await noted;
    const closed = trail.close();
    await turn();
    write();
    await closed;
  });
}

test('room that records took is free again once they are written', async () => {
  const { trail, write } = trailOf();
  const text = 'p '.repeat(1 << 19);
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 60; at++) await trail.note(requestOf(text), END);
    const closed = trail.close();
    await turn();
    write();
    await closed;
  }
});
