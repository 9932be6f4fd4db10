import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { test } from 'node:test';
import { lookupWithin, type Reach } from './reach.client.ts';

const within: Reach = {
  reach: { allow_loopback: false, allowed_networks: [], denied_networks: [] },
  listening: [],
};
const found = async () => [{ address: '198.51.100.1', family: 4 }];

/** What a connection is told of a name. */
function ask(): Promise<unknown[]> {
  const look = lookupWithin(within, (kind) => new Error(kind), found);
  return new Promise((resolve) => look('a.test', {}, (...told) => resolve(told)));
}

test('a connection is told when the interfaces of the machine cannot be read, and of the address when they can', async (t) => {
  const broken = new Error('no interfaces');
  t.mock.method(os, 'networkInterfaces', () => {
    throw broken;
  });
  syncBuiltinESMExports();
  assert.deepEqual(await ask(), [broken, '']);
  t.mock.restoreAll();
  syncBuiltinESMExports();
  assert.deepEqual(await ask(), [null, '198.51.100.1', 4]);
});
