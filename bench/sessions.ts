// Sessions: bytes through the server's worker beside the same bytes through a bare TLS proxy, connections a second,
// memory of idle connections, and how the API fares while one session runs flat out.
//
//   node bench/main.ts --only sessions, or: node bench/sessions.ts [--only bytes,connections,idle,api] [--rounds N] [--profile DIR]

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { decodeAuthorizationToken } from '../src/broker/sessions/authorization-token.ts';
import { sessionKey } from '../src/broker/sessions/session-key.ts';
import { encodePem } from '../src/core/pem.ts';
import { type ServerProcess, startGatehouse, startServerProcess } from './processes.ts';
import type { ClientResult, ClientTask } from './session-client.ts';

const PARTS = ['bytes', 'connections', 'idle', 'api'];
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: PARTS.join(',') },
    rounds: { type: 'string', default: '4' },
    profile: { type: 'string' },
  },
});
const wanted = values.only.split(',');
const BYTES = 1 << 29;

const data = mkdtempSync(join(process.cwd(), '.bench-'));
const endpoint = await startServerProcess(['bench/session-endpoint.ts']);
const profile =
  values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile];
const server = await startGatehouse(data, profile);
const client = fork(new URL('./session-client.ts', import.meta.url), { serialization: 'advanced' });

async function run(task: ClientTask): Promise<ClientResult> {
  client.send(task);
  const [result]: ClientResult[] = await once(client, 'message');
  if (!result) throw new Error('the client gave no result');
  return result;
}

const url = `http://127.0.0.1:${server.port}/v1`;

async function call(path: string, body?: unknown, token?: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { ...(token && { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

const login = await call('auth-methods/ampw_1234567890:authenticate', {
  attributes: { login_name: 'admin', password: 'password' },
});
const { token } = login.attributes as unknown as { token: string };
const { id: target = '' } = await call(
  'targets',
  {
    scope_id: 'p_1234567890',
    type: 'tcp',
    name: 'bench',
    address: '127.0.0.1',
    session_connection_limit: -1,
    attributes: { default_port: endpoint.port },
  },
  token,
);
const authorized = await call(`targets/${target}:authorize-session`, {}, token);
const session = decodeAuthorizationToken(authorized.authorization_token ?? '');
if (!session) throw new Error('no session');
const [worker = ''] = session.worker_addresses;
const port = Number(worker.slice(worker.lastIndexOf(':') + 1));
const task = { session, port, framed: true };

const proxy = await startProxy();

function startProxy(): Promise<ServerProcess> {
  if (!session) throw new Error('no session');
  process.env.PROXY_CERT = encodePem('CERTIFICATE', session.certificate);
  process.env.PROXY_KEY = String(
    sessionKey(session.private_key).export({ type: 'pkcs8', format: 'pem' }),
  );
  return startServerProcess(['bench/tls-proxy.ts', String(endpoint.port)]);
}

interface Rate {
  /** Gigabytes a second. */
  rate: number;
  /** Seconds of CPU time of the proxy a gigabyte. */
  cpu: number;
}

async function measureOnce(kind: 'up' | 'down', through: ServerProcess): Promise<Rate> {
  const bare = through === proxy;
  const before = through.cpu();
  const { milliseconds } = await run({
    ...task,
    ...(bare ? { port: proxy.port, framed: false } : {}),
    kind,
    count: BYTES,
  });
  const after = through.cpu();
  return { rate: BYTES / milliseconds / 1e6, cpu: (after.all - before.all) / 1e6 / (BYTES / 1e9) };
}

/** One after the other in turns; of each the best, since whatever else runs on the machine can only take away. */
async function measureBytes(): Promise<void> {
  for (const kind of ['down', 'up'] as const) {
    const best = { bare: { rate: 0, cpu: Infinity }, worker: { rate: 0, cpu: Infinity } };
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [name, through] of [['bare', proxy] as const, ['worker', server] as const]) {
        const { rate, cpu } = await measureOnce(kind, through);
        best[name].rate = Math.max(best[name].rate, rate);
        best[name].cpu = Math.min(best[name].cpu, cpu);
      }
    }
    const { bare, worker } = best;
    console.log(
      `${kind.padEnd(5)} bare ${bare.rate.toFixed(2)} GB/s ${bare.cpu.toFixed(2)} s CPU/GB   worker ${worker.rate.toFixed(2)} GB/s ${worker.cpu.toFixed(2)} s CPU/GB   ratio ${(worker.rate / bare.rate).toFixed(2)}, by CPU time ${(bare.cpu / worker.cpu).toFixed(2)}`,
    );
  }
}

async function measureConnections(): Promise<void> {
  for (const at_once of [1, 16, 64]) {
    await run({ ...task, kind: 'connections', count: 200, at_once });
    const count = at_once === 1 ? 500 : 3000;
    const before = server.cpu();
    const { milliseconds, lost } = await run({ ...task, kind: 'connections', count, at_once });
    const after = server.cpu();
    const each = (of: 'all' | 'main'): string => ((after[of] - before[of]) / count).toFixed(0);
    console.log(
      `connections, ${String(at_once).padStart(2)} at once  ${((count / milliseconds) * 1000).toFixed(0)}/s, lost ${lost}, CPU time each ${each('all')} µs (main ${each('main')} µs)`,
    );
  }
}

async function measureIdle(): Promise<void> {
  const count = 5000;
  const before = server.memory();
  const { lost } = await run({ ...task, kind: 'idle', count, at_once: 32 });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const each = (server.memory() - before) / count / 1000;
  console.log(`idle connections  ${count} open, lost ${lost}, ${each.toFixed(1)} kB each`);
}

/** Reads at an even pace. @returns the 99th percentile in milliseconds */
async function readTargets(seconds: number): Promise<{ p50: number; p99: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const headers = { authorization: `Bearer ${token}` };
  const latencies: number[] = [];
  const waiting: Promise<void>[] = [];
  const read = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begun = performance.now();
      request(`${url}/targets/${target}`, { agent, headers }, (response) => {
        response.resume().once('end', () => {
          latencies.push(performance.now() - begun);
          resolve();
        });
      })
        .once('error', reject)
        .end();
    });
  const begun = performance.now();
  for (let n = 0; n < seconds * 200; n++) {
    const pause = begun + n * 5 - performance.now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    waiting.push(read());
  }
  await Promise.all(waiting);
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

async function measureApi(): Promise<void> {
  await readTargets(2);
  const rest = await readTargets(6);
  let isOver = false;
  const flatOut = (async () => {
    let moved = 0;
    for (; !isOver; moved += 1) await run({ ...task, kind: 'down', count: BYTES });
    return moved;
  })();
  const busy = await readTargets(6);
  isOver = true;
  const moved = await flatOut;
  const show = ({ p50, p99 }: { p50: number; p99: number }): string =>
    `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  console.log(
    `API at 200/s  at rest ${show(rest)}; beside a session flat out (${moved} × ${BYTES >> 20} MiB) ${show(busy)}: ${(busy.p99 / rest.p99).toFixed(1)} times`,
  );
}

try {
  if (wanted.includes('bytes')) await measureBytes();
  if (wanted.includes('connections')) await measureConnections();
  if (wanted.includes('api')) await measureApi();
  if (wanted.includes('idle')) await measureIdle();
} finally {
  client.kill();
  await Promise.all([server.stop(), proxy.stop(), endpoint.stop()]);
  rmSync(data, { recursive: true, force: true });
}
