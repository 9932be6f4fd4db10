// Long CRLs and much data, on a real server with real files:
//
//   node bench/crl.ts [--entries 1000000] [--seconds 5] [--data DIR]
//
// `--data` keeps the folder, so that a second run does not have to fill it again.

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { reverseName } from '../src/pki/certificates/names.ts';
import { nameShard, type Shard, shardOf } from '../src/pki/crl/shards.ts';
import { formatColonHex } from '../src/x509/serial.ts';
import type { LoopReport } from './loop-probe.ts';
import { type Generator, startGenerator } from './processes.ts';

interface Server {
  port: number;
  /** Milliseconds from the start of the process to the first good answer of sys/health. */
  started: number;
  call(method: string, path: string, body?: unknown): Promise<Uint8Array>;
  /** How long the event loop was held since the last call. */
  loop(): Promise<LoopReport>;
  /** Megabytes now, and at most so far. */
  memory(): { now: number; peak: number };
  stop(): Promise<void>;
}

const MB = 1 << 20;

async function startServer(data: string): Promise<Server> {
  const began = performance.now();
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = fork(
    'src/main.ts',

    ['dev', '--data', data, '--listen', `127.0.0.1:${port}`, '--proxy-listen', '127.0.0.1:0'],
    {
      execArgv: ['--import', './bench/loop-probe.ts'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const url = `http://127.0.0.1:${port}/v1`;
  for (;;) {
    const health = await fetch(`${url}/sys/health`).catch(() => undefined);
    if (health?.status === 200) break;
    if (child.exitCode !== null) throw new Error('the server did not start');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    port,
    started: performance.now() - began,
    async call(method, path, body) {
      const answer = await fetch(`${url}/${path}`, {
        method,
        headers: { 'x-vault-token': 'root' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${Buffer.from(bytes)}`);
      return bytes;
    },
    loop: () => askLoop(child),
    memory: () => memoryOf(child.pid ?? 0),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function askLoop(child: ChildProcess): Promise<LoopReport> {
  const answer = once(child, 'message');
  child.send('report');
  const [report]: LoopReport[] = await answer;
  if (!report) throw new Error('the probe gave no answer');
  return report;
}

function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s*(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024);
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** Certificates besides the revoked ones, for the rate of revoking. */
const TO_REVOKE = 60_000;

const serialOf = (index: number, salt: Buffer): string => {
  // In order, so that the tables are filled quickly; otherwise as random as the real ones.
  const bytes = Buffer.concat([Buffer.alloc(4), salt, randomBytes(8)]);
  bytes.writeUInt32BE(0x10000000 + index * 1024);
  return formatColonHex(bytes);
};

/** Puts certificates and revocations into a stopped server's database. */
function fill(data: string, entries: number): void {
  const database = new DatabaseSync(join(data, 'gatehouse.db'));
  database.exec('pragma cache_size = -400000');
  const { mount_id, id, certificate } =
    database.prepare('select mount_id, id, certificate from pki_issuer').get() ?? {};
  if (typeof mount_id !== 'string' || typeof id !== 'string') throw new Error('no issuer');
  if (!(certificate instanceof Uint8Array)) throw new Error('no certificate');
  const now = Date.now();
  const until = Math.floor(now / 1000) + 90 * 86_400;
  const salt = randomBytes(8);
  const insertCertificate = database.prepare(
    "insert into pki_certificate (mount_id, serial, issuer_id, role, subject_cn, not_before, not_after, revoked_at_ms, revocation_reason, der) values (?, ?, ?, 'web', ?, ?, ?, ?, ?, ?)",
  );
  const insertName = database.prepare(
    'insert into pki_certificate_name (mount_id, reversed, serial) values (?, ?, ?)',
  );
  const insertRevocation = database.prepare(
    'insert into pki_revocation (mount_id, serial, issuer_id, revoked_at_ms, reason, revision) values (?, ?, ?, ?, 0, ?)',
  );
  database.exec('begin');
  for (let index = 0; index < entries; index += 1) {
    const serial = serialOf(index, salt);
    const name = `host-${index}.example.com`;
    // The bytes of a real certificate with this serial number are about as long as these.
    insertCertificate.run(
      mount_id,
      serial,
      id,
      name,
      until - 100,
      until + index,
      now,
      0,
      certificate,
    );
    insertName.run(mount_id, reverseName(name), serial);
    insertRevocation.run(mount_id, serial, id, now, index + 1);
  }
  database
    .prepare(
      'insert into pki_revision (mount_id, revision, epoch, lists_modified_at_ms) values (?1, ?2, 0, 0) on conflict (mount_id) do update set revision = ?2',
    )
    .run(mount_id, entries);
  database.exec('commit');
  database.close();
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const began = performance.now();
  const result = await work();
  return { ms: performance.now() - began, result };
}

function tell(what: string, figure: string): void {
  console.log(`${what.padEnd(58)} ${figure}`);
}

/** By the clock, and in CPU time alone, which tells ours from what other processes take. */
async function tellHold(server: Server): Promise<string> {
  const { longest, histogram_longest, longest_cpu } = await server.loop();
  const most = Math.max(longest, histogram_longest);
  return `loop held ${most.toFixed(1)} ms (${longest_cpu.toFixed(1)} ms CPU)`;
}

async function tellWork(server: Server, what: string, work: () => Promise<unknown>): Promise<void> {
  await server.loop();
  const { ms } = await timed(work);
  const held = await tellHold(server);
  const { now, peak } = server.memory();
  tell(what, `${ms.toFixed(0)} ms; ${held}; RSS ${now} MB, peak ${peak} MB`);
}

/** Issues certificates that can then be revoked one by one. */
async function issueSome(server: Server, generator: Generator, count: number): Promise<string[]> {
  const body = JSON.stringify({ common_name: 'www.example.com' });
  const { collected } = await generator.run({
    port: server.port,
    connections: 32,
    milliseconds: 600_000,
    requests: Array.from({ length: count }, () => request('POST', 'ca/issue/web', body)),
    from: 0,
    repeat: false,
    collect: '"serial_number":"([0-9a-f:]+)"',
  });
  return collected;
}

function request(method: string, path: string, body: string): string {
  return `${method} /v1/${path} HTTP/1.1\r\nhost: localhost\r\nx-vault-token: root\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Revokes as quickly as the server takes it. */
async function tellRevoking(
  server: Server,
  generator: Generator,
  what: string,
  run: { serials: string[]; seconds: number; reader: boolean },
): Promise<void> {
  await server.loop();
  let reading = true;
  let read = 0;
  const readers = (async () => {
    while (run.reader && reading) {
      await server.call('GET', 'ca/crl');
      read += 1;
    }
  })();
  const result = await generator.run({
    port: server.port,
    connections: 32,
    milliseconds: run.seconds * 1000,
    requests: run.serials.map((serial_number) =>
      request('POST', 'ca/revoke', JSON.stringify({ serial_number })),
    ),
    from: 0,
    repeat: false,
  });
  reading = false;
  await readers;
  const held = await tellHold(server);
  const rate = Math.round((result.answered / result.milliseconds) * 1000);
  if (result.refused > 0) throw new Error(`${result.refused} refused: ${result.refusal}`);
  tell(
    what,
    `${rate}/s; p99 ${(result.p99 / 1000).toFixed(1)} ms; ${held}${run.reader ? `; read ${read} times meanwhile` : ''}`,
  );
}

/** With deltas the complete CRL stays as it is, and what is revoked is on a short one. */
async function tellDeltas(server: Server, generator: Generator, seconds: number): Promise<void> {
  const wait = (path: string) => () => server.call('GET', path);
  const settings = { auto_rebuild: true, enable_delta: true, delta_rebuild_interval: '1s' };
  await server.call('POST', 'ca/config/crl', settings);
  await tellWork(server, 'the complete CRL, once deltas are on', wait('ca/crl'));
  await tellWork(server, 'the first delta, empty', wait('ca/crl/delta'));
  const serials = await issueSome(server, generator, TO_REVOKE / 2);
  await tellWork(server, 'one revocation, then the delta, built at once', async () => {
    await server.call('POST', 'ca/revoke', { serial_number: serials.pop() });
    await server.call('GET', 'ca/crl/rotate-delta');
    await server.call('GET', 'ca/crl/delta');
  });
  const run = { serials, seconds, reader: false };
  await tellRevoking(server, generator, 'revoking with auto_rebuild and deltas', run);
  await tellWork(server, 'the delta of all these', wait('ca/crl/rotate-delta'));
  const { length } = await server.call('GET', 'ca/crl/delta');
  tell('length of the delta', `${(length / MB).toFixed(2)} MB`);
  await tellWork(
    server,
    'rotate (the delta becomes part of the complete CRL)',
    wait('ca/crl/rotate'),
  );
}

/** Of how many shards certificates name one, and one that entries were put on. */
const SHARDS = 64;
const FILLED = { number: 9, count: SHARDS };

/** With shards a revocation has one short CRL built, and the complete one waits for whoever reads it. */
async function tellShards(server: Server): Promise<void> {
  await server.call('POST', 'ca/config/crl', { auto_rebuild: false, enable_delta: false });
  await server.call('POST', 'ca/config/urls', {
    crl_distribution_points: 'http://localhost/{{crl_shard}}',
    enable_templating: true,
  });
  await server.call('POST', 'ca/config/crl', { crl_shards: SHARDS });
  const issueWhere = async (isFilled: boolean): Promise<string> => {
    for (;;) {
      const body = { common_name: 'www.example.com' };
      const text = Buffer.from(await server.call('POST', 'ca/issue/web', body)).toString();
      const { serial_number } = JSON.parse(text).data;
      const isIn = shardOf(serial_number, SHARDS).number === FILLED.number;
      if (isIn === isFilled) return serial_number;
    }
  };
  const [inside, beside] = [await issueWhere(true), await issueWhere(false)];
  const read = (shard: Shard) => server.call('GET', `ca/crl/shard/${nameShard(shard)}`);
  await tellWork(server, 'a shard for the first time', () => read(FILLED));
  await tellWork(server, 'one revocation, then its shard', async () => {
    await server.call('POST', 'ca/revoke', { serial_number: inside });
    await read(FILLED);
  });
  await tellWork(server, 'one revocation, then a shard that it is not on', async () => {
    await server.call('POST', 'ca/revoke', { serial_number: beside });
    await read(FILLED);
  });
  await tellWork(server, `all ${SHARDS} shards, one after the other`, async () => {
    for (let number = 0; number < SHARDS; number += 1) {
      await read({ number, count: SHARDS });
    }
  });
  const { length } = await read(FILLED);
  tell('length of a shard', `${(length / MB).toFixed(2)} MB`);
  await server.call('POST', 'ca/config/crl', { crl_shards: 0 });
}

/** Runs all of it and prints a line for each figure. */
export async function measureLists(options: {
  entries: number;
  seconds: number;
  data?: string;
}): Promise<void> {
  const data = options.data ?? mkdtempSync(join(process.cwd(), 'bench-crl-'));
  const generator = startGenerator();
  const servers: Server[] = [];
  const start = async (): Promise<Server> => {
    const server = await startServer(data);
    servers.push(server);
    return server;
  };
  try {
    if (!existsSync(join(data, 'gatehouse.db'))) {
      const empty = await start();
      await empty.call('POST', 'sys/mounts/ca', {
        type: 'pki',
        config: { max_lease_ttl: '87600h' },
      });
      await empty.call('POST', 'ca/root/generate/internal', {
        common_name: 'Bench',
        key_type: 'ec',
        ttl: '87600h',
      });
      await empty.call('POST', 'ca/roles/web', {
        allow_any_name: true,
        key_type: 'ec',
        max_ttl: '720h',
      });
      await empty.call('POST', 'ca/config/crl', { max_crl_entries: -1 });
      await empty.stop();
      const { ms } = await timed(async () => fill(data, options.entries));
      tell(`filling the database with ${options.entries} certificates`, `${ms.toFixed(0)} ms`);
    }
    const server = await start();
    const { now } = server.memory();
    tell('start until sys/health answers', `${server.started.toFixed(0)} ms; RSS ${now} MB`);
    const wait = (path: string) => () => server.call('GET', path);
    await tellWork(server, 'the first CRL, read in DER', wait('ca/crl'));
    await tellWork(server, 'read again, DER', wait('ca/crl'));
    await tellWork(server, 'read again, PEM', wait('ca/crl/pem'));
    await tellWork(server, 'read again, JSON', wait('ca/issuer/default/crl'));
    await tellWork(server, 'rotate (built upon the last)', wait('ca/crl/rotate'));
    await tellWork(server, 'twenty CRLs, one after the other', async () => {
      for (let count = 0; count < 20; count += 1) await server.call('GET', 'ca/crl/rotate');
    });
    const serials = await issueSome(server, generator, TO_REVOKE);
    await tellWork(server, 'one revocation, then the CRL', async () => {
      await server.call('POST', 'ca/revoke', { serial_number: serials.pop() });
      await server.call('GET', 'ca/crl');
    });
    const half = serials.splice(0, serials.length / 2);
    const { seconds } = options;
    await tellRevoking(server, generator, 'revoking, CRLs following on their own', {
      serials: half,
      seconds,
      reader: false,
    });
    await tellRevoking(server, generator, 'revoking while a client reads the CRL all the time', {
      serials,
      seconds,
      reader: true,
    });
    await tellDeltas(server, generator, seconds);
    await tellShards(server);
    await new Promise((resolve) => setTimeout(resolve, 35_000));
    const rested = server.memory();
    tell('after half a minute of nothing', `RSS ${rested.now} MB, peak ${rested.peak} MB`);
    await server.stop();
    const again = await start();
    tell('start again', `${again.started.toFixed(0)} ms; RSS ${again.memory().now} MB`);
    await tellWork(again, 'the stored CRL, made again', () => again.call('GET', 'ca/crl'));
    const der = await again.call('GET', 'ca/crl');
    tell('length of the CRL', `${(der.length / MB).toFixed(1)} MB`);
    const pem = await again.call('GET', 'ca/crl/pem');
    const text = Buffer.from(pem)
      .toString('latin1')
      .replaceAll(/-----[^-]*-----|\n/g, '');
    tell('PEM and DER are the same', String(text === Buffer.from(der).toString('base64')));
    await again.stop();
  } finally {
    generator.stop();
    for (const server of servers) await server.stop();
    if (options.data === undefined) rmSync(data, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      entries: { type: 'string', default: '1000000' },
      seconds: { type: 'string', default: '5' },
      data: { type: 'string' },
    },
  });
  await measureLists({
    entries: Number(values.entries),
    seconds: Number(values.seconds),
    ...(values.data === undefined ? {} : { data: values.data }),
  });
}
