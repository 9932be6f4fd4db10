// Certificates below a root whose key a token of SoftHSM has, beside those below one with a key of the server: for one
// client and for 32, and how long the latter wait while the token is at work.
//
//   node bench/main.ts --only managed [--seconds N], or: node bench/managed.ts [seconds]

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { devConfig } from '../src/config/config.ts';
import { startServer } from '../src/start/server.ts';
import { findSoftHsm, makeSoftToken, PIN } from '../test/support/softhsm.ts';
import type { LoadResult } from './load.ts';
import { startGenerator } from './processes.ts';
import { issueRequest, post } from './workloads.ts';

const MILLISECONDS = Number(process.argv[2] ?? 4) * 1000;
const { path: library, skip } = findSoftHsm();
if (skip) {
  console.log(`left out: ${skip}`);
  process.exit(0);
}

const ends: (() => void | Promise<void>)[] = [];
const scope = { after: (end: () => void | Promise<void>) => void ends.push(end) };
const token = makeSoftToken(scope);
const data = mkdtempSync(join(process.cwd(), '.bench-'));
const running = await startServer({
  ...devConfig({
    data,
    listen: '127.0.0.1:0',
    proxy_listen: '127.0.0.1:0',
    root_token: 'root',
    threads: 1,
  }),
  log_level: 'silent',
  kms_library: [{ name: 'soft', type: 'pkcs11', library, timeout_ms: 20_000 }],
});
const { port } = running.address;
const generator = startGenerator();

const KEYS: [mount: string, key: Record<string, unknown> | undefined][] = [
  ['own', undefined],
  ['p256', { mechanism: '0x1041', curve: 'P256' }],
  ['rsa', { mechanism: '0x1', key_bits: '2048' }],
  ['pss', { mechanism: '0xd', key_bits: '2048' }],
];

async function makeAuthority(mount: string, key: Record<string, unknown> | undefined) {
  await post(port, `sys/mounts/${mount}`, { type: 'pki' });
  if (key) {
    await post(port, `sys/managed-keys/pkcs11/${mount}`, {
      ...{ library: 'soft', token_label: token.token_label, pin: PIN, key_label: mount },
      ...{ any_mount: true, allow_generate_key: true, ...key },
    });
  }
  await post(port, `${mount}/root/generate/${key ? 'kms' : 'internal'}`, {
    ...{ common_name: 'Root', ttl: '8760h' },
    ...(key ? { managed_key_name: mount } : { key_type: 'ec' }),
  });
  await post(port, `${mount}/roles/web`, { allow_any_name: true, key_type: 'ec', max_ttl: '72h' });
}

const run = (mount: string, connections: number, milliseconds = MILLISECONDS) =>
  generator.run({
    ...{ port, connections, milliseconds, repeat: true, from: 0 },
    requests: [issueRequest(mount)],
  });

function print(name: string, result: LoadResult): void {
  const { answered, refused, milliseconds, p50, p99 } = result;
  const rate = ((answered / milliseconds) * 1000).toFixed(0);
  console.log(
    `${name.padEnd(34)} ${rate.padStart(6)}/s   p50 ${p50} µs   p99 ${p99} µs   refused ${refused}`,
  );
}

try {
  for (const [mount, key] of KEYS) {
    await makeAuthority(mount, key);
    await run(mount, 4, 500);
    for (const connections of [1, 32]) {
      print(
        `${mount}, ${connections} client${connections > 1 ? 's' : ''}`,
        await run(mount, connections),
      );
    }
  }
  const other = startGenerator();
  const busy = other.run({
    ...{ port, connections: 32, milliseconds: MILLISECONDS + 500, repeat: true, from: 0 },
    requests: [issueRequest('rsa')],
  });
  print('own, 1 client beside 32 of rsa', await run('own', 1));
  await busy;
  other.stop();
} finally {
  generator.stop();
  await running.stop();
  rmSync(data, { recursive: true, force: true });
  for (const end of ends.reverse()) await end();
}
