// What a client was told is so, after the server, or the database under it, was killed.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { chainStart, verifyChain } from '../../src/core/record-chain.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { eachPlace, type Place, postgresPlace, sqlitePlaceIn } from '../support/engines.ts';
import {
  initialiseNode,
  type NodeProcess,
  newDirectory,
  settingsOf,
  startNodeProcess,
} from '../support/node-process.ts';
import { configAt } from '../support/placed-server.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Client, callOver, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';
import { Ledger } from './ledger.ts';

/** More of them: `GATEHOUSE_CRASH_ROUNDS=200 npm run test:crash`. */
const ROUNDS = Number(process.env.GATEHOUSE_CRASH_ROUNDS ?? 8);

/** However slow the machine is: fewer say nothing. */
const LEAST = 3;
/** No new round begins after this long unless a number of rounds was asked for; milliseconds. */
const TIME_BOX =
  process.env.GATEHOUSE_CRASH_ROUNDS === undefined ? 50_000 : Number.POSITIVE_INFINITY;

const CLIENTS = 8;

interface Load {
  /** Resolves when every client has stopped; rejects when one of them was answered wrongly. */
  stop(): Promise<void>;
}

function startLoad(t: TestContext, ledger: Ledger, call: Client['call']): Load {
  let stopped = false;
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, () => ledger.work(call, () => stopped)),
  );
  t.after(() => {
    stopped = true;
  });
  // Looked at when it is stopped.
  clients.catch(() => {});
  return {
    stop: async () => {
      stopped = true;
      await clients;
    },
  };
}

/** The chain is whole, and every acknowledged effect has its record in it. */
async function compareChain(place: Place, ledger: Ledger): Promise<void> {
  // As a node of another name, which may look at the chain while nobody writes it.
  const store = await openStore(place.options('looker'));
  try {
    await compareRecords(store, ledger);
  } finally {
    await store.close();
  }
}

async function compareRecords({ db }: Pick<Store, 'db'>, ledger: Ledger): Promise<void> {
  const records = await db
    .selectFrom('audit_entry')
    .selectAll()
    .where('node', 'in', ['test', 'local'])
    .orderBy('seq')
    .execute();
  const verdict = verifyChain(chainStart(records[0]?.node ?? ''), records);
  assert.ok(verdict.intact, verdict.intact ? '' : verdict.because);
  ledger.compareRecords(records);
}

async function until(
  what: string,
  ask: () => Promise<boolean>,
  limit_ms = 60_000,
): Promise<number> {
  const start = performance.now();
  while (!(await ask())) {
    assert.ok(performance.now() - start < limit_ms, `${what}: not within ${limit_ms} ms`);
    await delay(20);
  }
  return performance.now() - start;
}

eachPlace('a server that is killed', (newPlace) => {
  test('again and again has kept everything that it acknowledged', async (t) => {
    const place = await newPlace();
    const settings = settingsOf(place, newDirectory(t));
    const ledger = new Ledger();
    let node = await startNodeProcess(t, settings);
    const token = await initialiseNode(node);
    await ledger.prepare(node.as(token));
    const began = performance.now();
    let rounds = 0;
    const isInTime = (): boolean => rounds < LEAST || performance.now() - began < TIME_BOX;
    for (; rounds < ROUNDS && isInTime(); rounds += 1) {
      const load = startLoad(t, ledger, node.as(token));
      const before = ledger.answered;
      await until('clients are answered', async () => ledger.answered > before + 10);
      await delay(Math.random() * 1000);
      await node.kill();
      await load.stop();
      await compareChain(place, ledger);
      node = await startNodeProcess(t, settings);
      await ledger.compare(node.as(token), 'recent');
    }
    await ledger.compare(node.as(token), 'all');
    await node.kill();
    t.diagnostic(`${rounds} rounds: ${ledger.size}`);
  });

  test('thread by thread has kept everything that it acknowledged, and goes on by itself', async (t) => {
    const config = configAt(await newPlace(), newDirectory(t), { node_name: 'test' });
    const { running, url } = await startTestServer(t, { config: { ...config, threads: 4 } });
    const made = await callOver(url, '')('PUT', 'sys/init', {});
    const call = callOver(url, made.textAt('root_token'));
    const ledger = new Ledger();
    await ledger.prepare(call);
    const load = startLoad(t, ledger, call);
    // One more within a minute would be the end of the process.
    for (let deaths = 0; deaths < 4; deaths += 1) {
      const before = ledger.answered;
      await until('clients are answered', async () => ledger.answered > before + 30);
      await delay(Math.random() * 200);
      await running.threads?.kill();
      await until('all threads are there', async () => running.threads?.count === 4);
    }
    await load.stop();
    const refused = [...ledger.statuses.keys()].filter((status) => status >= 300);
    assert.deepEqual(refused, [], 'nobody is refused for the death of another thread');
    await ledger.compare(call, 'all');
    await writeRecords(running);
    await compareRecords(running.app, ledger);
    t.diagnostic(ledger.size);
  });
});

/** Fewer than are too many for one process. */
const THREADS_KILLED = 3;

eachPlace('a thread that is killed', (newPlace) => {
  test('takes nothing with it that was acknowledged, and neither does the process after it', async (t) => {
    const place = await newPlace();
    const settings = { ...settingsOf(place, newDirectory(t)), threads: 4 };
    const ledger = new Ledger();
    let node = await startNodeProcess(t, settings, { mortal: true });
    const token = await initialiseNode(node);
    await ledger.prepare(node.as(token));
    const began = performance.now();
    let rounds = 0;
    const isInTime = (): boolean => rounds < 2 || performance.now() - began < TIME_BOX;
    for (; rounds < ROUNDS && isInTime(); rounds += 1) {
      const load = startLoad(t, ledger, node.as(token));
      for (let killed = 0; killed < THREADS_KILLED; killed += 1) {
        const before = ledger.answered;
        await until('clients are answered', async () => ledger.answered > before + 10);
        await delay(Math.random() * 500);
        node.killThread();
      }
      const before = ledger.answered;
      await until('clients are answered again', async () => ledger.answered > before + 10);
      // What has ended are threads: the process goes on, and knows all that it knew.
      if (rounds % 2 === 0) {
        await load.stop();
        await ledger.compare(node.as(token), 'recent');
      }
      await node.kill();
      await load.stop();
      await compareChain(place, ledger);
      node = await startNodeProcess(t, settings, { mortal: true });
      await ledger.compare(node.as(token), 'recent');
    }
    await ledger.compare(node.as(token), 'all');
    await node.kill();
    t.diagnostic(`${rounds} rounds: ${ledger.size}`);
  });
});

test('a server whose PostgreSQL is killed answers 503 meanwhile, forgets nothing and goes on by itself', {
  skip: process.env.GATEHOUSE_TEST_POSTGRES === undefined && 'PostgreSQL is left out',
}, async (t) => {
  const directory = newDirectory(t);
  // A server of its own, in a directory that it makes itself.
  const postgres = await startPostgres(`${directory}-postgres`);
  t.after(() => postgres.stop());
  const place = await postgresPlace(postgres.url);
  const node = await startNodeProcess(t, settingsOf(place, directory));
  const token = await initialiseNode(node);
  const ledger = new Ledger();
  const call = node.as(token);
  await ledger.prepare(call);
  for (let round = 0; round < 4; round += 1) {
    const load = startLoad(t, ledger, call);
    await delay(200 + Math.random() * 600);
    await postgres.crash();
    await delay(300);
    const down = await call('POST', 'ca/issue/any', { common_name: 'down.example' });
    assert.equal(down.status, 503, down.text);
    assert.equal((await call('GET', 'ca/crl', undefined, { token: '' })).status, 503);
    await postgres.restart();
    const back = await until('a certificate is issued again', () => isIssuing(call));
    t.diagnostic(`issuing again after ${back.toFixed()} ms`);
    await load.stop();
    await ledger.compare(call, 'recent');
  }
  const { 503: refused = 0, ...others } = Object.fromEntries(ledger.statuses);
  assert.ok(refused > 0, 'nobody noticed that the database was down');
  assert.deepEqual(
    Object.keys(others).filter((status) => Number(status) >= 300),
    [],
  );
  await ledger.compare(call, 'all');
  await node.kill();
  await compareChain(place, ledger);
  t.diagnostic(`${ledger.size}; ${refused} requests refused with 503`);
});

async function isIssuing(call: Client['call']): Promise<boolean> {
  const { status, text } = await call('POST', 'ca/issue/any', { common_name: 'back.example' });
  assert.ok(status === 200 || status === 503, text);
  return status === 200;
}

/** A file system of a few megabytes, or undefined where this process may not make one. */
function smallDisk(t: TestContext): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    rmdirSync(directory);
    return undefined;
  }
  t.after(() => {
    execFileSync('umount', ['-l', directory]);
    rmdirSync(directory);
  });
  return directory;
}

test('a server whose disk is full answers 503, hands nothing out and goes on when there is room', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('a small file system cannot be mounted here: that needs root');
    return;
  }
  const place = sqlitePlaceIn(join(disk, 'data'));
  const settings = settingsOf(place, newDirectory(t));
  let node: NodeProcess = await startNodeProcess(t, settings);
  const token = await initialiseNode(node);
  const ledger = new Ledger();
  await ledger.prepare(node.as(token));
  for (let round = 0; round < 3; round += 1) {
    const call = node.as(token);
    const load = startLoad(t, ledger, call);
    await delay(300);
    const ballast = fill(disk);
    const before = ledger.statuses.get(503) ?? 0;
    await until('the disk is full', async () => (ledger.statuses.get(503) ?? 0) > before + 50);
    const full = await call('POST', 'ca/issue/any', { common_name: 'full.example' });
    assert.equal(full.status, 503, full.text);
    rmSync(ballast);
    const back = await until('a certificate is issued again', () => isIssuing(call));
    t.diagnostic(`issuing again after ${back.toFixed()} ms`);
    await load.stop();
    await ledger.compare(call, 'recent');
    // What it wrote around the full disk is whole, to another process as well.
    await node.kill();
    await compareChain(place, ledger);
    node = await startNodeProcess(t, settings);
  }
  await ledger.compare(node.as(token), 'all');
  await node.kill();
  t.diagnostic(ledger.size);
});

/** Takes all the room that is left, while others take it too. */
function fill(disk: string): string {
  const file = join(disk, 'ballast');
  const block = new Uint8Array(4096);
  for (;;) {
    try {
      appendFileSync(file, block);
    } catch {
      return file;
    }
  }
}
