import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { DEV_DEFAULTS, devConfig, parseConfig } from './config.ts';
import { threadsOf } from './threads.ts';

const GIB = 1024 ** 3;
for (const [cores, memory, threads] of [
  [1, 64 * GIB, 1],
  [2, 24 * GIB, 2],
  [16, 64 * GIB, 16],
  [16, 8 * GIB, 16],
  [16, 8 * GIB - 1, 15],
  [8, GIB, 2],
  [8, GIB / 2, 1],
  // There is one in any case.
  [8, GIB / 4, 1],
  [0, GIB, 1],
] as const) {
  test(`with ${cores} cores and ${memory / GIB} GiB ${threads} answer unless told otherwise`, () => {
    assert.equal(threadsOf({ cores, memory }), threads);
  });
}

test('this machine has no more threads than cores', () => {
  assert.ok(threadsOf() >= 1);
  assert.ok(threadsOf() <= availableParallelism());
});

test('a development server has as many as there are by themselves, or as it is told', () => {
  assert.equal(devConfig(DEV_DEFAULTS).threads, threadsOf());
  assert.equal(devConfig({ ...DEV_DEFAULTS, threads: 7 }).threads, 7);
});

test('a configuration file says how many, or nothing of it', () => {
  const file = (more: object) =>
    parseConfig(
      JSON.stringify({
        listener: { address: '127.0.0.1:8200', tls_disable: true },
        storage: { type: 'sqlite', path: './data' },
        seal: { type: 'keyfile', path: './key' },
        ...more,
      }),
    );
  assert.equal(file({}).threads, threadsOf());
  assert.equal(file({ threads: 999 }).threads, 999);
});
