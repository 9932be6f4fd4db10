// A tidying of many certificates while others are issued, and a start with as many leases, on a real server with real
// files:
//
//   node bench/tidy.ts [--rows 1000000] [--seconds 10] [--connections 8]
//
// What is asked: issuance has at most twice the p99 that it has at rest, and the start takes no longer for the leases.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { reverseName } from '../src/pki/certificates/names.ts';
import type { LoadResult } from './load.ts';
import { startGatehouse, startGenerator } from './processes.ts';
import { issueRequest, prepareMount } from './workloads.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '8' },
  },
});
const rows = Number(values.rows);
const milliseconds = Number(values.seconds) * 1000;
const connections = Number(values.connections);

function tell(what: string, figure: string): void {
  console.log(`${what.padEnd(48)} ${figure}`);
}

/** Puts certificates that have ended, and leases that have not, into a stopped server's database. */
function fill(data: string): void {
  const database = new DatabaseSync(join(data, 'gatehouse.db'));
  database.exec('pragma cache_size = -400000');
  const issuer = database.prepare('select mount_id, id, certificate from pki_issuer').get() ?? {};
  const { mount_id = '', id = '', certificate = '' } = issuer;
  const now = Math.floor(Date.now() / 1000);
  const insertCertificate = database.prepare(
    "insert into pki_certificate (mount_id, serial, issuer_id, role, subject_cn, not_before, not_after, der) values (?, ?, ?, 'web', ?, 0, ?, ?)",
  );
  const insertName = database.prepare(
    'insert into pki_certificate_name (mount_id, reversed, serial) values (?, ?, ?)',
  );
  const insertLease = database.prepare(
    "insert into lease (id, bound, mount_id, kind, data, issued_at, expires_at, renewable) values (?, 0, ?, 'pki', ?, ?, ?, 0)",
  );
  database.exec('begin');
  for (let at = 0; at < rows; at += 1) {
    // Spread over the table as real serial numbers are.
    const serial = `${((at * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}:${at}`;
    insertCertificate.run(mount_id, serial, id, `host-${at}`, now - 30 * 86_400 - at, certificate);
    insertName.run(mount_id, reverseName(`host-${at}`), serial);
    insertLease.run(
      `demo/issue/web/${serial}`,
      mount_id,
      `{"serial":"${serial}"}`,
      now,
      now + 86_400,
    );
  }
  database
    .prepare("update pki_count set value = value + ? where mount_id = ? and name = 'certificates'")
    .run(rows, mount_id);
  database.exec('commit');
  database.close();
}

const latency = ({ answered, refused, milliseconds, p50, p99 }: LoadResult): string =>
  `${Math.round((answered / milliseconds) * 1000)}/s, p50 ${(p50 / 1000).toFixed(1)} ms, p99 ${(p99 / 1000).toFixed(1)} ms, ${refused} refused`;

const data = mkdtempSync(join(process.cwd(), 'bench-tidy-'));
const generator = startGenerator();
try {
  const timedStart = async () => {
    const began = performance.now();
    const server = await startGatehouse(data, []);
    const ms = performance.now() - began;
    return { server, took: `${ms.toFixed(0)} ms, ${(server.cpu().all / 1000).toFixed(0)} ms CPU` };
  };
  const first = await timedStart();
  await prepareMount(first.server.port);
  await first.server.stop();
  const empty = await timedStart();
  tell('start, empty', empty.took);
  await empty.server.stop();
  fill(data);
  const { server, took } = await timedStart();
  tell(`start with ${rows} leases`, took);
  const call = async (method: string, path: string, body?: object) => {
    const headers = { 'x-vault-token': 'root' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${server.port}/v1/${path}`, {
      method,
      headers,
      ...sent,
    });
    return Object(await answer.json());
  };
  const issue = () =>
    generator.run({
      port: server.port,
      connections,
      milliseconds,
      requests: [issueRequest()],
      repeat: true,
      from: 0,
    });
  await issue();
  const rest = await issue();
  tell('issuing at rest', latency(rest));
  const body = { tidy_cert_store: true, safety_buffer: '72h' };
  await call('POST', 'demo/tidy', body);
  const during = await issue();
  tell('issuing while it is tidied', latency(during));
  tell('p99 against that at rest', (during.p99 / rest.p99).toFixed(2));
  const processed = async (): Promise<number> => {
    const { data: status } = await call('GET', 'demo/tidy-status');
    tell('tidied so far', `${status.processed_count} of ${status.total_count} (${status.state})`);
    return status.processed_count ?? 0;
  };
  const busy = await processed();
  await setTimeout(milliseconds);
  const quiet = (await processed()) - busy;
  tell('tidied while nothing else goes on', `${Math.round((quiet / milliseconds) * 1000)}/s`);
  await server.stop();
} finally {
  generator.stop();
  rmSync(data, { recursive: true, force: true });
}
