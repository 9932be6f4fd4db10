// What was acknowledged is there after the process, or the database server, was killed.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { chainStart, verifyChain } from '../../src/core/record-chain.ts';
import type { Store } from '../../src/store/store.ts';
import { eachPlace, type Place, postgresPlace } from '../support/engines.ts';
import { startPostgres } from '../support/postgres.ts';

const ROUNDS = 20;

interface Writing {
  child: ChildProcess;
  /** The sets acknowledged so far. */
  acknowledged: string[];
  /** Resolves when so many more have been. */
  more(count: number): Promise<void>;
}

function startWriting(place: Place, round: number): Writing {
  const { log: _, ...options } = place.options();
  const script = join(import.meta.dirname, 'writer.ts');
  const child = spawn(process.execPath, [script, JSON.stringify({ ...options, round })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  const waiting: { at: number; resolve(): void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged.push(line);
    for (const { at, resolve } of waiting) if (acknowledged.length >= at) resolve();
  });
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== null) throw new Error(`the writer ended by itself with ${code}`);
  });
  const more = (count: number) =>
    Promise.race([
      ended,
      new Promise<void>((resolve) => waiting.push({ at: acknowledged.length + count, resolve })),
    ]);
  return { child, acknowledged, more };
}

async function kill(writing: Writing): Promise<void> {
  if (writing.child.signalCode !== null) return;
  const closed = once(writing.child, 'close');
  writing.child.kill('SIGKILL');
  await closed;
}

/** Everything acknowledged is there, every set is whole, and the chain is. */
async function assertNothingLost(store: Store, acknowledged: string[]): Promise<void> {
  const rows = await store.db.selectFrom('job_lease').select('name').execute();
  const names = new Set(rows.map(({ name }) => name));
  const lost = acknowledged.filter((name) => !names.has(name));
  assert.deepEqual(lost, [], 'acknowledged and lost');

  const records = await store.db
    .selectFrom('audit_entry')
    .selectAll()
    .where('node', '=', 'test')
    .orderBy('seq')
    .execute();
  const verdict = verifyChain(chainStart('test'), records);
  assert.ok(verdict.intact, verdict.intact ? '' : verdict.because);
  const sets = records.map(({ record }) => record);
  assert.deepEqual(
    [...names].toSorted(),
    sets.flatMap((name) => [name, `${name} too`]).toSorted(),
    'half a set',
  );
}

eachPlace('a process that is killed', (newPlace) => {
  test(`${ROUNDS} times has lost nothing that it acknowledged`, async (t) => {
    const place = await newPlace();
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const writing = startWriting(place, round);
      await writing.more(1 + Math.floor(Math.random() ** 2 * 500));
      await kill(writing);
      acknowledged.push(...writing.acknowledged);
      const store = await place.open();
      await assertNothingLost(store, acknowledged);
      await store.close();
    }
    t.diagnostic(`${acknowledged.length} acknowledged sets`);
  });
});

test('a PostgreSQL server that is killed has lost nothing, and its clients come back by themselves', {
  skip: process.env.GATEHOUSE_TEST_POSTGRES === undefined && 'PostgreSQL is left out',
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-crash-'));
  rmSync(directory, { recursive: true });
  const server = await startPostgres(directory);
  t.after(() => server.stop());
  const place = await postgresPlace(server.url);
  const writing = startWriting(place, 0);
  t.after(() => kill(writing));
  for (let round = 0; round < 4; round += 1) {
    await writing.more(1 + Math.floor(Math.random() * 500));
    await server.crash();
    await server.restart();
  }
  await writing.more(100);
  await kill(writing);
  const store = await place.open();
  await assertNothingLost(store, writing.acknowledged);
  t.diagnostic(`${writing.acknowledged.length} acknowledged sets`);
  await store.close();
});
