import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { newDirectory } from '../support/node-process.ts';
import { startProgram } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';

/** A revocation list of tens of megabytes is in memory once, however many threads give it. */

const THREADS = 4;
/** Of so many none of the threads is left out, but for once in ten thousand times. */
const CONNECTIONS = 40;
/** Some 19 MB. */
const REVOKED = 500_000;
const MB = 1 << 20;

/** An authority in a directory, with so many revocations. */
async function makeAuthority(t: TestContext, directory: string): Promise<void> {
  let stop = async (): Promise<void> => {};
  const { call } = await startTestServer(
    {
      after: (one) => {
        stop = one;
      },
    },
    { directory, jobs: [], on_one: 'it is stopped again' },
  );
  t.after(() => stop());
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  await call('POST', 'ca/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'ca/config/crl', { max_crl_entries: -1 });
  await stop();
  stop = async () => {};
  const database = new DatabaseSync(join(directory, 'gatehouse.db'));
  const { mount_id, id } = database.prepare('select mount_id, id from pki_issuer').get() ?? {};
  assert.ok(typeof mount_id === 'string' && typeof id === 'string');
  database
    .prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${REVOKED})
       insert into pki_revocation (mount_id, serial, issuer_id, revoked_at_ms, reason, revision)
       select ?, printf('10:%02x:%02x:%02x', i / 65536, (i / 256) % 256, i % 256)
         || ':a1:b2:c3:d4:e5:f6:07:18:29:3a:4b:5c', ?, ?, 0, i from n`,
    )
    .run(mount_id, id, Date.now());
  database
    .prepare(
      `insert into pki_revision (mount_id, revision, epoch, lists_modified_at_ms) values (?1, ?2, 0, 0)
       on conflict (mount_id) do update set revision = ?2`,
    )
    .run(mount_id, REVOKED);
  database.close();
}

/** Reads, and keeps nothing of it. @returns how many bytes came */
function read(agent: Agent, url: URL, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = get(new URL(`/v1/${path}`, url), { agent }, (response) => {
      let length = 0;
      response.on('data', (piece: Buffer) => {
        length += piece.length;
      });
      response.once('end', () => {
        assert.equal(response.statusCode, 200);
        resolve(length);
      });
      response.once('error', reject);
    });
    asked.once('error', reject);
  });
}

/** Megabytes of a process, all of its threads together. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1]) / 1024;
}

test('a long list takes its memory once, whichever threads give it', async (t) => {
  const directory = newDirectory(t);
  await makeAuthority(t, directory);
  const { url, pid } = await startProgram(t, [
    ...['dev', '-data', directory, '-listen', '127.0.0.1:0', '-proxy-listen', '127.0.0.1:0'],
    ...['-threads', String(THREADS)],
  ]);
  const agents = Array.from(
    { length: CONNECTIONS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  );
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const [first] = agents;
  assert.ok(first);
  // All threads have answered something before.
  for (const agent of agents) await read(agent, url, 'ca/ca/pem');
  const bytes = await read(first, url, 'ca/crl');
  assert.ok(bytes > 15 * MB, `${bytes}`);
  // What it took to make it, and to send it again and again by one.
  const forms = ['crl', 'issuer/default/crl/der'];
  for (const form of [...forms, ...forms]) await read(first, url, `ca/${form}`);
  const before = memoryOf(pid);
  const after: number[] = [];
  for (const form of forms) {
    for (const agent of agents) await read(agent, url, `ca/${form}`);
    after.push(memoryOf(pid));
  }
  const most = before + (1.5 * bytes) / MB;
  t.diagnostic(`${bytes >> 20} MB: ${before | 0} MB before, ${after.map((one) => one | 0)} after`);
  // Three more would have it beside the one that had it first.
  for (const now of after) assert.ok(now < most, `${now} ${most}`);
});
