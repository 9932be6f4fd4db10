/** The server under test in a process of its own, which tells how long its event loop was held. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { devConfig } from '../../src/config/config.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { startServer } from '../../src/start/server.ts';
import { fakeLibrary } from '../support/fake-token.ts';

/** How often it is looked whether the loop turns: what is found is too long by no more than this. */
const STEP_MS = 2;

/** Processor time of this thread, in milliseconds: what other programs take does not count. */
function spent(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

let before = spent();
let longest = 0;
const look = (): void => {
  const now = spent();
  longest = Math.max(longest, now - before);
  before = now;
};
setInterval(look, STEP_MS);

/** Holds the loop for so long: the measure itself is measured by it. */
function hold(milliseconds: number): void {
  for (const end = spent() + milliseconds; spent() < end; );
}

process.on('message', (message: { ask?: 'longest' | 'heap' | 'peak'; hold?: number }) => {
  if (message.hold !== undefined) {
    hold(message.hold);
    process.send?.({ held: true });
    return;
  }
  if (message.ask === 'heap') {
    globalThis.gc?.();
    process.send?.({ heap: process.memoryUsage().heapUsed });
    return;
  }
  if (message.ask === 'peak') {
    process.send?.({ peak: process.resourceUsage().maxRSS << 10 });
    return;
  }
  look();
  process.send?.({ longest });
  longest = 0;
});

const [, , data = '', cert_file, key_file] = process.argv;
const beside = join(data, '..', 'device');
mkdirSync(beside, { recursive: true });
const running = await startServer({
  ...devConfig({
    data,
    listen: '127.0.0.1:0',
    proxy_listen: '127.0.0.1:0',
    root_token: 'root',
    // What it spends is looked at on this thread.
    threads: 1,
  }),
  log_level: 'error',
  seed: SEED_DEFAULTS,
  kms_library: [fakeLibrary(beside)],
  ...(cert_file && key_file ? { tls: { cert_file, key_file } } : {}),
});
process.send?.({ port: running.address.port });
process.on('disconnect', () => process.exit(0));
