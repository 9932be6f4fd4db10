// Requests a second of a real server on real files, driven by a load generator in a process of its
// own, each beside the bare limits of this machine measured in the same run.
//
//   npm run bench -- [--only issue,sign,sign-intermediate,verbatim,read,role,ocsp,revoke,post-quantum,session,target,crl,store,managed,sessions] [--seconds N] [--threads N] [--profile DIR]
//
// `req/core` are requests for each second of CPU time that the server takes, in all its threads together; `main µs` is the
// thread that supervises, which bounds how far more threads help.
// `--profile` writes a CPU profile of the server into DIR (open it with Chrome's developer tools).

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Certificate } from '../src/x509/certificate.ts';
import { measureLimits } from './limits.ts';
import type { Load, LoadResult } from './load.ts';
import {
  type Generator,
  type ServerProcess,
  startGatehouse,
  startGenerator,
  startServerProcess,
} from './processes.ts';
import {
  authorizeSessionRequest,
  delegateOcsp,
  followRevocations,
  issuePostQuantumRequest,
  issueRequest,
  ocspGetRequest,
  ocspPostRequest,
  postQuantumOcspRequest,
  prepareMount,
  preparePostQuantumMount,
  readCrlRequest,
  readRequest,
  readRoleRequest,
  revokeRequest,
  signIntermediateRequest,
  signRequest,
  targetRequests,
  verbatimRequest,
} from './workloads.ts';

/** Measurements that are programs of their own, run after the others. */
const PROGRAMS = ['crl', 'store', 'managed', 'sessions'];
const GROUPS = [
  'issue',
  'sign',
  'sign-intermediate',
  'verbatim',
  'read',
  'role',
  'ocsp',
  'revoke',
  'post-quantum',
  'session',
  'target',
];

interface Bench {
  server: ServerProcess;
  generator: Generator;
  milliseconds: number;
  root: Certificate;
  /** Of certificates issued in this run. */
  serials: string[];
}

const HEADINGS = [
  '',
  'req/s',
  'best',
  'req/core',
  'p50 µs',
  'p99 µs',
  'server µs',
  'main µs',
  'client µs',
  'RSS MB',
];
const WIDTHS = [26, 8, 8, 9, 8, 9, 10, 9, 10, 8];

function printLine(cells: readonly string[]): void {
  const padded = cells.map((cell, at) =>
    at === 0 ? cell.padEnd(WIDTHS[0] ?? 0) : cell.padStart(WIDTHS[at] ?? 0),
  );
  console.log(padded.join(' '));
}

/** A measurement is made in slices this long, in milliseconds. */
const SLICE = 500;

interface Slice extends LoadResult {
  /** CPU time for each answer in microseconds: the whole server, and its thread that answers. */
  all: number;
  main: number;
}

/**
 * Prints one line. The rate is that of the whole time; CPU times are those of the slice that
 * took least, since whatever else runs on the machine can only add to them.
 */
async function measure(
  name: string,
  bench: Pick<Bench, 'server' | 'generator' | 'milliseconds'>,
  load: Pick<Load, 'connections' | 'requests'> & Partial<Load>,
): Promise<string[]> {
  const { server, generator, milliseconds } = bench;
  const whole: Load = { port: server.port, milliseconds: SLICE, repeat: true, from: 0, ...load };
  const slices: Slice[] = [];
  for (let time = -SLICE; time < milliseconds; time += SLICE) {
    const before = server.cpu();
    const result = await generator.run(whole);
    const after = server.cpu();
    if (result.refused > 0)
      throw new Error(`${name}: ${result.refused} refused: ${result.refusal}`);
    whole.from = result.next;
    const all = (after.all - before.all) / result.answered;
    const main = (after.main - before.main) / result.answered;
    slices.push({ ...result, all, main });
    if (!whole.repeat && whole.from >= whole.requests.length) break;
  }
  // The first slice is for warming up, unless there is no other.
  const counted = slices.length > 1 ? slices.slice(1) : slices;
  const sum = (of: (slice: Slice) => number): number =>
    counted.reduce((total, slice) => total + of(slice), 0);
  const least = (of: (slice: Slice) => number): number => Math.min(...counted.map(of));
  const middle = (of: (slice: Slice) => number): number =>
    counted.map(of).sort((a, b) => a - b)[counted.length >> 1] ?? 0;
  const rateOf = (slice: Slice): number => (slice.answered / slice.milliseconds) * 1000;
  printLine([
    name,
    ((sum((slice) => slice.answered) / sum((slice) => slice.milliseconds)) * 1000).toFixed(0),
    Math.max(...counted.map(rateOf)).toFixed(0),
    (1e6 / least((slice) => slice.all)).toFixed(0),
    String(middle((slice) => slice.p50)),
    String(middle((slice) => slice.p99)),
    least((slice) => slice.all).toFixed(1),
    least((slice) => slice.main).toFixed(1),
    least((slice) => slice.cpu / slice.answered).toFixed(1),
    (server.memory() / 2 ** 20).toFixed(0),
  ]);
  return slices.flatMap((slice) => slice.collected);
}

async function measureIssue(bench: Bench, groups: readonly string[]): Promise<void> {
  const requests = [issueRequest()];
  const isWanted = groups.includes('issue');
  if (isWanted) await measure('issue P-256, 1 client', bench, { connections: 1, requests });
  // The other workloads need certificates, too; a revocation uses one up.
  const milliseconds = isWanted || groups.includes('revoke') ? bench.milliseconds : 1000;
  bench.serials = await measure(
    'issue P-256, 32 clients',
    { ...bench, milliseconds },
    { connections: 32, requests, collect: '"serial_number":"([^"]+)"' },
  );
}

async function measureSign(bench: Bench): Promise<void> {
  await measure('sign P-256, 32 clients', bench, { connections: 32, requests: [signRequest()] });
}

async function measureIntermediate(bench: Bench): Promise<void> {
  const requests = [signIntermediateRequest()];
  await measure('sign-intermediate, 32', bench, { connections: 32, requests });
}

async function measureVerbatim(bench: Bench): Promise<void> {
  const requests = [verbatimRequest()];
  await measure('verbatim P-256, 32 clients', bench, { connections: 32, requests });
}

async function measureRead(bench: Bench): Promise<void> {
  const requests = bench.serials.map(readRequest);
  await measure('cert read, 32 clients', bench, { connections: 32, requests });
}

async function measureRole(bench: Bench): Promise<void> {
  const requests = [readRoleRequest()];
  await measure('role read, 32 clients', bench, { connections: 32, requests });
}

async function measureOcsp(bench: Bench): Promise<void> {
  const asked = bench.serials.slice(0, 5000);
  const posts = asked.map((serial) => ocspPostRequest(bench.root, serial));
  await measure('OCSP POST, 32 clients', bench, { connections: 32, requests: posts });
  const nonces = asked.map((serial) =>
    ocspPostRequest(bench.root, serial, 'demo', randomBytes(16)),
  );
  await measure('OCSP POST, nonces', bench, { connections: 32, requests: nonces });
  const gets = asked.map((serial) => ocspGetRequest(bench.root, serial));
  await measure('OCSP GET, 32 clients', bench, { connections: 32, requests: gets });
  await delegateOcsp(bench.server.port, true);
  await measure('OCSP GET, delegated', bench, { connections: 32, requests: gets });
  await delegateOcsp(bench.server.port, false);
}

async function measureRevoke(bench: Bench): Promise<void> {
  const half = Math.floor(bench.serials.length / 2);
  const runs = [
    { name: 'revoke, CRL at once', at_once: true, serials: bench.serials.slice(0, half) },
    { name: 'revoke, CRL in time', at_once: false, serials: bench.serials.slice(half) },
  ];
  for (const { name, at_once, serials } of runs) {
    await followRevocations(bench.server.port, at_once);
    const requests = serials.map(revokeRequest);
    await measure(name, bench, { connections: 32, requests, repeat: false });
  }
  await measure('CRL read, 32 clients', bench, { connections: 32, requests: [readCrlRequest()] });
}

/** Issues with ML-DSA-65 under ML-DSA-65, and asks about what was issued: first signed, then mostly kept. */
async function measurePostQuantum(bench: Bench): Promise<void> {
  const root = await preparePostQuantumMount(bench.server.port);
  const serials = await measure('issue ML-DSA-65, 32', bench, {
    connections: 32,
    requests: [issuePostQuantumRequest()],
    collect: '"serial_number":"([^"]+)"',
  });
  // As many as there is room for: of more, asked for in turns, none would be there the next time.
  const requests = serials.slice(0, 1000).map((serial) => postQuantumOcspRequest(root, serial));
  const load = { connections: 32, requests };
  await measure('OCSP ML-DSA-65, signed', bench, { ...load, repeat: false });
  await measure('OCSP ML-DSA-65, kept', bench, load);
}

async function measureSession(bench: Bench): Promise<void> {
  const requests = [await authorizeSessionRequest(bench.server.port)];
  await measure('authorize-session, 32', bench, { connections: 32, requests });
}

async function measureTarget(bench: Bench): Promise<void> {
  const { reads, lists } = await targetRequests(bench.server.port);
  await measure('read target, 32 clients', bench, { connections: 32, requests: reads });
  await measure('list 25 targets, 32', bench, { connections: 32, requests: lists });
}

async function measureBare(
  generator: Generator,
  milliseconds: number,
  threads: string,
): Promise<void> {
  const size = '3000';
  const server = await startServerProcess(['bench/bare.ts', size, threads]);
  const requests = ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'];
  const bench = { server, generator, milliseconds };
  const by = threads === '1' ? '' : ` by ${threads}`;
  await measure(`bare http, ${size} bytes${by}`, bench, { connections: 32, requests });
  await server.stop();
}

async function measureServer(
  groups: readonly string[],
  options: { milliseconds: number; node: readonly string[]; threads: string },
): Promise<void> {
  const { milliseconds, node, threads } = options;
  // Beside the sources, because the usual place for temporary files may be in memory.
  const data = mkdtempSync(join(process.cwd(), '.bench-'));
  const generator = startGenerator();
  try {
    const limits = measureLimits(data, Math.min(1000, milliseconds));
    console.log(`P-256 key and signature, one core  ${limits.key_and_signature.toFixed(0)}/s`);
    console.log(`P-256 signature, one core          ${limits.signature.toFixed(0)}/s`);
    console.log(`4 KiB appended and synced          ${limits.synced_append.toFixed(0)}/s\n`);
    printLine(HEADINGS);
    for (const count of new Set(['1', threads])) await measureBare(generator, milliseconds, count);
    const server = await startGatehouse(data, node, threads);
    try {
      const root = await prepareMount(server.port);
      const bench: Bench = { server, generator, milliseconds, root, serials: [] };
      await measureIssue(bench, groups);
      if (groups.includes('sign')) await measureSign(bench);
      if (groups.includes('sign-intermediate')) await measureIntermediate(bench);
      if (groups.includes('verbatim')) await measureVerbatim(bench);
      if (groups.includes('read')) await measureRead(bench);
      if (groups.includes('role')) await measureRole(bench);
      if (groups.includes('ocsp')) await measureOcsp(bench);
      if (groups.includes('revoke')) await measureRevoke(bench);
      if (groups.includes('post-quantum')) await measurePostQuantum(bench);
      if (groups.includes('session')) await measureSession(bench);
      if (groups.includes('target')) await measureTarget(bench);
    } finally {
      await server.stop();
    }
  } finally {
    generator.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

/** Runs a benchmark that is a program of its own. */
async function runProgram(name: string): Promise<void> {
  const file = `bench/${name}.ts`;
  if (!existsSync(file)) return;
  console.log(`\n${name}`);
  await once(
    spawn(process.execPath, [file, ...(name === 'managed' ? [String(seconds)] : [])], {
      stdio: 'inherit',
    }),
    'exit',
  );
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: [...GROUPS, ...PROGRAMS].join(',') },
    seconds: { type: 'string', default: '4' },
    threads: { type: 'string', default: '1' },
    profile: { type: 'string' },
  },
});
const wanted = values.only.split(',');
const unknown = wanted.filter((name) => ![...GROUPS, ...PROGRAMS].includes(name));
const seconds = Number(values.seconds);
if (unknown.length > 0 || !(seconds > 0)) {
  console.error(`--only takes ${[...GROUPS, ...PROGRAMS].join(', ')}; --seconds a number above 0`);
  process.exit(2);
}
const groups = GROUPS.filter((name) => wanted.includes(name));
const node = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile];
if (groups.length > 0) {
  const { threads } = values;
  await measureServer(groups, { milliseconds: seconds * 1000, node, threads });
}
for (const name of PROGRAMS) if (wanted.includes(name)) await runProgram(name);
