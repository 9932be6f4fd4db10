// A server under mixed load for minutes: certificates are issued, read, asked about by OCSP and revoked, sessions
// authorized, targets and certificates listed, all at the same time. It is over with 1 where anything was refused.
//
//   node bench/mixed.ts [--minutes N] [--threads N] [--clients N] [--heaps]
//
// `--clients` are the connections of each kind of read; of those that write there is one for each. With `--heaps`
// each thread collects its garbage once a minute, and what is left to it then is told: without, the process's memory
// says as much about when garbage is collected as about what is kept.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { HeapLook } from './heaps.ts';
import { startGatehouse, startGenerator } from './processes.ts';
import {
  authorizeSessionRequest,
  issueRequest,
  listCertificatesRequest,
  ocspPostRequest,
  prepareMount,
  readRequest,
  readRoleRequest,
  revokeRequest,
  targetRequests,
} from './workloads.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    threads: { type: 'string', default: '4' },
    clients: { type: 'string', default: '2' },
    heaps: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const clients = Number(values.clients);
if (!(minutes > 0) || !(clients >= 1)) {
  console.error('--minutes takes a number above 0; --clients one from 1');
  process.exit(2);
}

/** Each kind goes on with what came of the others this often, in milliseconds. */
const SLICE = 5_000;
/** Memory is looked at this often. */
const LOOK = 15_000;
/** Until then caches fill, and nobody wonders that memory grows. */
const WARM = Math.min(120_000, (minutes * 60_000) / 2);
/** Of so many certificates one is revoked. */
const REVOKED = 10;

interface Kind {
  name: string;
  connections: number;
  /** What to send next; empty: nothing for now. */
  requests: () => string[];
  /** Each once only. */
  once?: true;
  answered: number;
  refused: number;
  times: number[];
}

const data = mkdtempSync(join(process.cwd(), '.bench-'));
const heaps = join(data, 'heaps');
if (values.heaps) process.env.GATEHOUSE_BENCH_HEAPS = heaps;
const looking = ['--expose-gc', `--import=${new URL('./heaps.ts', import.meta.url)}`];
const server = await startGatehouse(data, values.heaps ? looking : [], values.threads);
/** When the load began, and when it is to be over. */
let started = 0;
let end = 0;

/** Of the certificates that were issued last. */
let fresh: string[] = [];
let toRevoke: string[] = [];

async function runKind(kind: Kind): Promise<void> {
  const generator = startGenerator();
  try {
    while (performance.now() < end) {
      const requests = kind.requests();
      if (requests.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      const result = await generator.run({
        port: server.port,
        connections: kind.connections,
        milliseconds: Math.min(SLICE, end - performance.now()),
        requests,
        repeat: !kind.once,
        from: 0,
        keep_times: true,
        ...(kind.name === 'issue' ? { collect: '"serial_number":"([^"]+)"' } : {}),
      });
      kind.answered += result.answered;
      kind.refused += result.refused;
      for (const time of result.times) kind.times.push(time);
      if (result.refused > 0) console.log(`${kind.name}: ${result.refusal}`);
      if (kind.name === 'issue') {
        fresh = result.collected;
        toRevoke.push(...result.collected.filter((_, at) => at % REVOKED === 0));
      }
    }
  } finally {
    generator.stop();
  }
}

const takeToRevoke = (): string[] => {
  const taken = toRevoke;
  toRevoke = [];
  return taken;
};

const seconds = (): number => (performance.now() - started) / 1000;
const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

interface Look {
  at: number;
  bytes: number;
}

/** @returns bytes a minute, as a straight line through all looks has them */
function growth(looks: readonly Look[]): number {
  const mean = (of: (look: Look) => number): number =>
    looks.reduce((sum, look) => sum + of(look), 0) / looks.length;
  const [at, bytes] = [mean((look) => look.at), mean((look) => look.bytes)];
  const along = mean((look) => (look.at - at) ** 2);
  return along === 0 ? 0 : (mean((look) => (look.at - at) * (look.bytes - bytes)) / along) * 60;
}

async function watchMemory(kinds: readonly Kind[]): Promise<Look[]> {
  const looks: Look[] = [];
  for (let due = started + LOOK; due <= end; due += LOOK) {
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    const look = { at: seconds(), bytes: server.memory() };
    looks.push(look);
    const refused = kinds.reduce((sum, kind) => sum + kind.refused, 0);
    const answered = kinds.reduce((sum, kind) => sum + kind.answered, 0);
    const time = `${look.at.toFixed(0)} s`.padStart(6);
    console.log(
      `${time} ${megabytes(look.bytes).padStart(6)} MB  ${answered} answered, ${refused} refused`,
    );
  }
  return looks;
}

/** What each thread keeps after a collection, minute by minute. */
function tellHeaps(): void {
  const threads = new Map<string, HeapLook[]>();
  for (const line of readFileSync(heaps, 'utf8').trim().split('\n')) {
    const look = JSON.parse(line) as HeapLook;
    threads.getOrInsertComputed(look.thread, () => []).push(look);
  }
  const row = (looks: readonly HeapLook[], of: (look: HeapLook) => number): string =>
    looks.map((look) => (of(look) / 2 ** 20).toFixed(1).padStart(6)).join('');
  console.log('\nMB after a collection, once a minute');
  for (const [thread, looks] of threads) {
    console.log(`${thread.padEnd(20)} heap    ${row(looks, ({ heap }) => heap)}`);
    console.log(`${' '.repeat(20)} outside ${row(looks, ({ external }) => external)}`);
  }
}

function tell({ name, answered, refused, times }: Kind): void {
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  const rate = (answered / (minutes * 60)).toFixed(0);
  const columns = [rate, at(0.5), at(0.99), times.at(-1)?.toFixed(1) ?? '', String(refused)];
  console.log(name.padEnd(20) + columns.map((column) => column.padStart(9)).join(''));
}

try {
  const root = await prepareMount(server.port);
  const session = await authorizeSessionRequest(server.port);
  const targets = await targetRequests(server.port);
  const kindOf = (name: string, connections: number, requests: () => string[]): Kind => {
    return { name, connections, requests, answered: 0, refused: 0, times: [] };
  };
  const kinds = [
    kindOf('issue', 1, () => [issueRequest()]),
    { ...kindOf('revoke', 1, () => takeToRevoke().map(revokeRequest)), once: true as const },
    kindOf('authorize session', 1, () => [session]),
    kindOf('read certificate', clients, () => fresh.map(readRequest)),
    kindOf('OCSP', clients, () => fresh.map((serial) => ocspPostRequest(root, serial))),
    kindOf('read role', clients, () => [readRoleRequest()]),
    kindOf('read target', clients, () => targets.reads),
    kindOf('list targets', clients, () => targets.lists),
    kindOf('list certificates', clients, () => [listCertificatesRequest()]),
  ];
  started = performance.now();
  end = started + minutes * 60_000;
  const [looks] = await Promise.all([watchMemory(kinds), ...kinds.map(runKind)]);
  const titles = ['req/s', 'p50 ms', 'p99 ms', 'most ms', 'refused'];
  console.log(`\n${' '.repeat(20)}${titles.map((title) => title.padStart(9)).join('')}`);
  for (const kind of kinds) tell(kind);
  const warm = looks.filter(({ at }) => at * 1000 >= WARM);
  const [first, last] = [warm[0]?.bytes ?? 0, warm.at(-1)?.bytes ?? 0];
  console.log(
    `\nmemory after ${WARM / 1000} s: ${megabytes(first)} MB, in the end ${megabytes(last)} MB, ${megabytes(growth(warm))} MB a minute`,
  );
  if (existsSync(heaps)) tellHeaps();
  process.exitCode = kinds.some(({ refused }) => refused > 0) ? 1 : 0;
} finally {
  await server.stop();
  rmSync(data, { recursive: true, force: true });
}
