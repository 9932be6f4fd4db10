// A server whose threads are killed when its parent says so: `node mortal-server.ts FILE`.

import assert from 'node:assert/strict';
import { readConfig } from '../../src/cli/place.ts';
import { startServer } from '../../src/start/server.ts';

const running = await startServer(readConfig(process.argv[2] ?? ''));
running.onDeath(() => process.exit(1));
process.on('message', () => {
  assert.ok(running.threads, 'several threads answer');
  void running.threads.kill();
});
const { host, port } = running.address;
console.log(`gatehouse listens on http://${host}:${port}`);
