// A backup or a restore that is killed, at any of its steps.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { backUp } from '../../src/store/backup.ts';
import { restore } from '../../src/store/restore.ts';
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts';
import { eachPlace, type Place, sqlitePlaceIn } from '../support/engines.ts';
import type { Task } from './steps.ts';

const SCRIPT = join(import.meta.dirname, 'steps.ts');
const MADE = { now: 0, program: '0.0.0' };
const RECORDS = 40;
/** Statements to PostgreSQL are many and alike: every so many are killed at. */
const STRIDE = { sqlite: 1, postgres: 37 };

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-kill-'));
after(() => rmSync(directory, { recursive: true, force: true }));
let made = 0;
const newPath = (): string => join(directory, `at-${made++}`);

async function fill(store: Store, which: string): Promise<void> {
  const records = Array.from({ length: RECORDS }, (_, n) => JSON.stringify({ which, n }));
  await store.commit(records.map((audit) => ({ audit })));
}

/** Which of the two fillings a database holds, whole. */
async function readWhich(options: StoreOptions): Promise<string> {
  const store = await openStore({ ...options, node_name: 'looker' });
  try {
    const rows = await store.db.selectFrom('audit_entry').select('record').orderBy('seq').execute();
    const which: string = JSON.parse(rows[0]?.record ?? '{"which":"none"}').which;
    const whole = Array.from({ length: RECORDS }, (_, n) => JSON.stringify({ which, n }));
    assert.deepEqual(
      rows.map(({ record }) => record),
      which === 'none' ? [] : whole,
    );
    return which;
  } finally {
    await store.close();
  }
}

/** @returns the number of its steps, if it came to its end */
async function runTask(task: Task, killAfter?: number): Promise<number | undefined> {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(tmpdir(), 'gatehouse-test-modules') },
  });
  if (killAfter !== undefined) {
    delay(killAfter).then(() => child.kill('SIGKILL'));
  }
  const [out, err] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (child.signalCode === 'SIGKILL') return undefined;
  assert.equal(child.exitCode, 0, err);
  return Number(out);
}

/** Runs a task again and again, killed before each of its steps, and then to its end. */
async function killAtEach(
  t: TestContext,
  stride: number,
  once: (kill_before: number) => Promise<number | undefined>,
): Promise<void> {
  let at = 1;
  let steps: number | undefined;
  for (; steps === undefined; at += stride) steps = await once(at);
  t.diagnostic(`killed at every ${stride} of ${steps} steps`);
  assert.ok(steps >= 10, 'it has hardly any steps: are they counted?');
}

async function makeSource(newPlace: () => Promise<Place>, which: string): Promise<Place> {
  const place = await newPlace();
  const store = await openStore(place.options());
  await fill(store, which);
  await store.close();
  return place;
}

eachPlace('a backup that is killed', (newPlace, engine) => {
  test('is whole or not there, and can be taken again', async (t) => {
    const source = await makeSource(newPlace, 'old');
    await killAtEach(t, STRIDE[engine], async (kill_before) => {
      const folder = newPath();
      const file = join(mkdtempSync(folder), 'backup');
      const place = source.options('test');
      const steps = await runTask({ work: 'backup', place, file, kill_before });
      await checkBackup(file, place);
      return steps;
    });
  });
});

async function checkBackup(file: string, source: StoreOptions): Promise<void> {
  const left = readdirSync(join(file, '..')).filter((name) => name !== 'backup');
  for (const name of left) {
    assert.match(name, /^backup\.partial-/);
    const folder = join(file, '..', name);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const inside of readdirSync(folder)) {
      assert.equal(statSync(join(folder, inside)).mode & 0o777, 0o600);
    }
    await refuseOrWhole(join(folder, 'gatehouse.db'));
  }
  if (!existsSync(file)) await backUp(source, file, MADE);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(await restoredFrom(file), 'old');
  await assert.rejects(backUp(source, file, MADE), { kind: 'conflict' });
}

/** What a killed backup left is refused, or it was finished but for its name. */
async function refuseOrWhole(file: string): Promise<void> {
  if (!existsSync(file)) return;
  try {
    assert.equal(await restoredFrom(file), 'old');
  } catch (error) {
    assert.match(String(error), /is not a whole backup|cannot be read/);
  }
}

async function restoredFrom(file: string): Promise<string> {
  const target: StoreOptions = { engine: 'sqlite', directory: newPath() };
  await restore(target, file, { replace: false, finish: async () => {} });
  return readWhich(target);
}

/** A SQLite database whose newest records are in its log alone, as a killed server leaves it. */
async function makeUnclosed(): Promise<string> {
  const place = sqlitePlaceIn(newPath());
  const store = await place.open();
  await fill(store, 'old');
  const options = place.options();
  assert.ok(options.engine === 'sqlite');
  const copy = newPath();
  cpSync(options.directory, copy, { recursive: true });
  await store.close();
  assert.ok(statSync(join(copy, 'gatehouse.db-wal')).size > 0);
  return copy;
}

async function backupOf(which: string): Promise<string> {
  const source = sqlitePlaceIn(newPath());
  await fill(await source.open(), which);
  const file = newPath();
  await backUp(source.options(), file, MADE);
  await source.remove();
  return file;
}

/** No server starts on what is half done, or it finds the one or the other whole; and it can be repeated. */
async function checkRestore(target: StoreOptions, before: string, file: string): Promise<void> {
  const left = target.engine === 'sqlite' ? unfinishedIn(target.directory) : [];
  if (left.length > 0) {
    await assert.rejects(openStore(target), /was not finished: repeat it, or remove/);
    for (const folder of left) assert.equal(statSync(folder).mode & 0o777, 0o700);
    const aside = newPath();
    assert.ok(target.engine === 'sqlite');
    cpSync(target.directory, aside, { recursive: true });
    for (const folder of unfinishedIn(aside)) rmSync(folder, { recursive: true });
    assert.ok([before, 'new'].includes(await readWhich({ engine: 'sqlite', directory: aside })));
  } else {
    assert.ok([before, 'new'].includes(await readWhich(target)));
  }
  await restore(target, file, { replace: true, finish: async () => {} });
  assert.equal(await readWhich(target), 'new');
  if (target.engine === 'sqlite') assert.deepEqual(unfinishedIn(target.directory), []);
}

function unfinishedIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith('gatehouse-restore-'))
    .map((name) => join(folder, name));
}

eachPlace('a restore that is killed', (newPlace, engine) => {
  if (engine === 'sqlite') {
    for (const before of ['old', 'none']) {
      test(`over ${before === 'old' ? 'a database with a log' : 'nothing'} serves nothing half done`, async (t) => {
        const file = await backupOf('new');
        const unclosed = await makeUnclosed();
        const stride = before === 'old' ? 1 : 3;
        await killAtEach(t, stride, async (kill_before) => {
          const folder = newPath();
          if (before === 'old') cpSync(unclosed, folder, { recursive: true });
          const place: StoreOptions = { engine: 'sqlite', directory: folder };
          const steps = await runTask({ work: 'restore', place, file, kill_before });
          await checkRestore(place, before, file);
          return steps;
        });
      });
    }

    test('at any moment serves nothing half done', async () => {
      const file = await backupOf('new');
      const unclosed = await makeUnclosed();
      for (let round = 0; round < 10; round += 1) {
        const folder = newPath();
        cpSync(unclosed, folder, { recursive: true });
        const place: StoreOptions = { engine: 'sqlite', directory: folder };
        const task: Task = { work: 'restore', place, file, kill_before: 0 };
        await runTask(task, 150 + Math.random() * 500);
        await checkRestore(place, 'old', file);
      }
    });
  } else {
    test('leaves the database as it was, or restored', async (t) => {
      const target = await makeSource(newPlace, 'old');
      const place = target.options('test');
      const old = newPath();
      await backUp(place, old, MADE);
      const file = await backupOf('new');
      await killAtEach(t, STRIDE[engine], async (kill_before) => {
        await restore(place, old, { replace: true, finish: async () => {} });
        const steps = await runTask({ work: 'restore', place, file, kill_before });
        await checkRestore(place, 'old', file);
        return steps;
      });
    });
  }
});

test('a restore waits for nobody who reads the database that it replaces, and takes nothing from it', async () => {
  const file = await backupOf('new');
  const folder = await makeUnclosed();
  const reader = new DatabaseSync(join(folder, 'gatehouse.db'), { readOnly: true });
  reader.exec('begin; select count(*) from audit_entry');
  const target: StoreOptions = { engine: 'sqlite', directory: folder };
  const options = { replace: true, finish: async () => {} };
  await assert.rejects(restore(target, file, options), /another process reads/);
  reader.close();
  assert.equal(await readWhich(target), 'old');
  await restore(target, file, options);
  assert.equal(await readWhich(target), 'new');
});
