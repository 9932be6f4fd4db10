// How a healthy client fares beside idle connections and slow requests of other addresses.
//
//   node bench/idle-sockets.ts [--idle 2000] [--slow 200] [--seconds 5]

import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGatehouse } from './processes.ts';

const { values } = parseArgs({
  options: {
    idle: { type: 'string', default: '2000' },
    slow: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '5' },
  },
});

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const server = await startGatehouse(directory, []);
const HEAD = 'Host: localhost\r\n';
const READ = `GET /v1/sys/mounts HTTP/1.1\r\n${HEAD}X-Vault-Token: root\r\n\r\n`;
const SLOW = `POST /v1/auth/userpass/login/ann HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n`;

const open = (localAddress: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
    socket.once('connect', () => resolve(socket)).on('error', reject);
    socket.on('close', () => socket.destroy());
  });

async function openMany(count: number, localAddress: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 100) {
    const some = Math.min(100, count - n);
    sockets.push(...(await Promise.all(Array.from({ length: some }, () => open(localAddress)))));
  }
  return sockets;
}

async function measure(name: string): Promise<void> {
  const socket = await open('127.0.0.3');
  const latencies: number[] = [];
  const end = performance.now() + Number(values.seconds) * 1000;
  while (performance.now() < end) {
    const start = performance.now();
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(READ);
    await answered;
    latencies.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  socket.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number): string =>
    (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(1);
  const memory = Math.round(server.memory() / 2 ** 20);
  console.log(
    `${name.padEnd(28)} ${latencies.length} reads  p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  RSS ${memory} MB`,
  );
}

try {
  await measure('alone');
  const idle = await openMany(Number(values.idle), '127.0.0.2');
  const slow = await openMany(Number(values.slow), '127.0.0.4');
  for (const socket of slow) socket.write(SLOW);
  const drip = setInterval(() => {
    for (const socket of slow) if (socket.writable) socket.write(' ');
  }, 1_000);
  await measure(`${values.idle} idle, ${values.slow} slow`);
  clearInterval(drip);
  for (const socket of [...idle, ...slow]) socket.destroy();
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
