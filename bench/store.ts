// How many write sets a second each engine makes durable, beside what the disk allows.
//
//   node bench/store.ts [seconds]      GATEHOUSE_TEST_POSTGRES adds PostgreSQL

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, prepared, preparedWrite } from '../src/store/database.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { write } from '../src/store/write.ts';
import { postgresPlace, sqlitePlace } from '../test/support/engines.ts';

const SECONDS = Number(process.argv[2] ?? 3);
const RECORD = JSON.stringify({ record: 'x'.repeat(400) });

const insertRow = preparedWrite(
  (build, p: { name: string; holder: string }) =>
    build
      .insertInto('job_lease')
      .values({ name: p.name, holder: p.holder, expires_at_ms: 1, fence: 1 }),
  { rows: 1 },
);

const findRow = prepared((build, p: { name: string }) =>
  build.selectFrom('job_lease').selectAll().where('name', '=', p.name),
);

/** Waits for the disk one write of 4 KiB at a time: the limit of commits that are not grouped. */
function measureDisk(): number {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'));
  const file = openSync(join(directory, 'file'), 'w');
  const page = new Uint8Array(4096);
  const end = performance.now() + 1000;
  let count = 0;
  while (performance.now() < end) {
    writeSync(file, page);
    fsyncSync(file);
    count += 1;
  }
  closeSync(file);
  rmSync(directory, { recursive: true });
  return count;
}

async function measureCommits(store: Store, writers: number, withAudit: boolean): Promise<string> {
  let sets = 0;
  let slowest = 0;
  const start = performance.now();
  const end = start + SECONDS * 1000;
  const cpu = process.threadCpuUsage();
  const before = store.stats();
  const writer = async (id: number) => {
    for (let i = 0; performance.now() < end; i += 1) {
      const began = performance.now();
      const name = `${writers}-${withAudit}-${id}-${i}`;
      const second = withAudit
        ? { audit: RECORD }
        : insertRow({ name: `${name}-b`, holder: RECORD });
      await store.commit([insertRow({ name, holder: 'a holder of ordinary length' }), second]);
      slowest = Math.max(slowest, performance.now() - began);
      sets += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, id) => writer(id)));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.threadCpuUsage(cpu);
  const batches = store.stats().batches - before.batches;
  return [
    `${Math.round(sets / seconds)} sets/s`,
    `${(sets / batches).toFixed(1)} sets a batch`,
    `${Math.round((user + system) / 1000 / seconds / 10)} % of the main thread`,
    `slowest ${slowest.toFixed(0)} ms`,
  ].join(', ');
}

async function measureReads(store: Store): Promise<string> {
  const name = '32-true-0-0';
  const time = async (count: number, read: () => Promise<unknown>) => {
    const start = performance.now();
    for (let i = 0; i < count; i += 1) await read();
    return `${(((performance.now() - start) * 1000) / count).toFixed(1)} µs`;
  };
  const count = store.engine === 'sqlite' ? 100_000 : 5_000;
  await time(count, () => findRow.first(store.db, { name }));
  const known = await time(count, () => findRow.first(store.db, { name }));
  const built = await time(count / 5, () =>
    store.db.selectFrom('job_lease').selectAll().where('name', '=', name).executeTakeFirst(),
  );
  return `a read by key: ${known} prepared, ${built} built each time`;
}

async function measure(store: Store): Promise<void> {
  const warm = write(build.insertInto('audit_sink').values({ name: 'a', node: 'b', seq: 1 }));
  await store.commit([warm]);
  for (const writers of [1, 32, 256]) {
    for (const withAudit of [false, true]) {
      const figures = await measureCommits(store, writers, withAudit);
      console.log(
        `${store.engine}, ${writers} writers, ${withAudit ? 'row + audit' : '2 rows'}: ${figures}`,
      );
    }
  }
  console.log(`${store.engine}, ${await measureReads(store)}`);
}

console.log(`disk: ${measureDisk()} writes of 4 KiB a second, each waited for`);
const server = process.env.GATEHOUSE_TEST_POSTGRES;
const places = [sqlitePlace(), ...(server === undefined ? [] : [await postgresPlace(server)])];
for (const place of places) {
  const store = await openStore(place.options());
  await measure(store);
  await store.close();
  await place.remove();
}
