import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { eachPlace, type Place } from '../../test/support/engines.ts';
import { backUp } from './backup.ts';
import { appendChecksum, readSchema, writeFacts } from './backup-file.ts';
import { columnTypes } from './columns.ts';
import { build } from './database.ts';
import { MIGRATIONS } from './migrations.ts';
import { restore } from './restore.ts';
import { openStore, type Store, type StoreOptions } from './store.ts';
import { write } from './write.ts';

const MADE = { now: 1_700_000_000_000, program: '0.0.0' };
const NOTHING = { replace: false, finish: async () => {} };

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'));
after(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(directory, `backup-${files++}`);

const token = (id: string, parent_id: string | null) =>
  write(
    build.insertInto('token').values({
      id,
      accessor: `accessor ${id}`,
      parent_id,
      mount_id: 'm',
      alias_id: '',
      expires_at: null,
      uses_left: 0,
      renewed_at: null,
      body: '{"é":"\u0001"}',
    }),
    { rows: 1 },
  );

/** A token under another, with bytes that text would spoil, and a record of it. */
async function fill(store: Store): Promise<void> {
  const key = build.insertInto('seal_key').values({
    use: 'data',
    term: -1,
    created_at: 2 ** 53 - 1,
    key_sealed: Uint8Array.from({ length: 256 }, (_byte, index) => index),
  });
  // The child's identifier sorts before its parent's, so rows do not come parents first.
  await store.commit([token('z', null), token('a', 'z'), write(key), { audit: '{"n":1}' }]);
  await store.commit(Array.from({ length: 1200 }, (_, n) => ({ audit: `{"n":${n + 2}}` })));
}

async function contents(store: Store) {
  const tokens = await store.db.selectFrom('token').selectAll().orderBy('id').execute();
  const keys = await store.db.selectFrom('seal_key').selectAll().execute();
  const records = await store.db.selectFrom('audit_entry').selectAll().orderBy('seq').execute();
  const version = await store.db.selectFrom('config_version').selectAll().execute();
  return { tokens, keys, records, version };
}

eachPlace('a backup taken', (newSource, from) => {
  eachPlace(`from ${from} and restored`, (newTarget) => {
    test('holds every row and every byte, and the restored server goes on from there', async () => {
      const source = await newSource();
      const store = await source.open();
      await fill(store);
      const before = await contents(store);
      const file = newFile();
      const facts = await backUp(source.options(), file, MADE);
      assert.equal(facts.engine, from);
      assert.equal(statSync(file).mode & 0o777, 0o600);

      const target = await newTarget();
      const told = await restore(target.options(), file, {
        replace: false,
        finish: (restored) => restored.commit([{ audit: '{"restored":true}' }]),
      });
      assert.deepEqual(told, facts);
      const restored = await target.open();
      const now = await contents(restored);
      assert.equal(now.records.pop()?.record, '{"restored":true}');
      // For whoever knew the one before it is another database.
      const [{ incarnation } = { incarnation: '' }] = now.version;
      assert.notEqual(incarnation, '');
      assert.deepEqual(now, { ...before, version: [{ ...before.version[0], incarnation }] });
      await restored.commit([{ audit: '{}' }]);
      // Keys refer to rows as before.
      await assert.rejects(restored.commit([token('b', 'gone')]), { kind: 'conflict' });
      await restored.commit([token('b', 'z')]);
    });
  });

  test('is of one moment while writing goes on', async () => {
    const source = await newSource();
    const store = await source.open();
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n += 1) await store.commit([{ audit: `{"n":${n}}` }]);
    })();
    for (let n = 0; n < 20; n += 1) await store.commit([{ audit: '{}' }]);
    const file = newFile();
    await backUp(source.options(), file, MADE);
    stop = true;
    await writing;
    const copy = new DatabaseSync(file, { readOnly: true });
    const seqs = copy.prepare('select seq from audit_entry order by seq').all();
    copy.close();
    assert.ok(seqs.length >= 20);
    assert.deepEqual(
      seqs.map(({ seq }) => seq),
      seqs.map((_row, index) => index + 1),
    );
  });

  test('is refused over a database that is not empty, unless it may be replaced', async () => {
    const source = await newSource();
    const store = await source.open();
    await store.commit([{ audit: '{"old":true}' }]);
    const file = newFile();
    await backUp(source.options(), file, MADE);
    await store.commit([{ audit: '{"new":true}' }]);
    await store.close();
    await assert.rejects(restore(source.options(), file, NOTHING), {
      kind: 'conflict',
      message: /-force replaces everything/,
    });
    assert.equal((await contentsOf(source)).records.length, 2);
    await restore(source.options(), file, { ...NOTHING, replace: true });
    assert.equal((await contentsOf(source)).records.length, 1);
  });

  test('is refused while a server runs, even where it may be replaced', async () => {
    const source = await newSource();
    const store = await source.open();
    const file = newFile();
    await backUp(source.options(), file, MADE);
    await assert.rejects(restore(source.options(), file, { ...NOTHING, replace: true }), {
      message: /another process has the directory|in use by node "test"/,
    });
    await store.commit([{ audit: '{}' }]);
  });

  if (from === 'postgres') {
    test('waits for a session that is shown still when its node has stopped', async () => {
      const source = await newSource();
      await (await source.open()).close();
      const file = newFile();
      const options = source.options();
      assert.ok(options.engine === 'postgres');
      await backUp(options, file, MADE);
      const leaving = new Client({
        connectionString: options.url,
        application_name: 'gatehouse committer test',
      });
      await leaving.connect();
      const gone = setTimeout(300).then(() => leaving.end());
      await restore(options, file, { ...NOTHING, replace: true });
      await gone;
    });
  }

  test('leaves the target as it was when the restoring fails on the way', async () => {
    const source = await newSource();
    const store = await source.open();
    await store.commit([{ audit: '{"old":true}' }]);
    const file = newFile();
    await backUp(source.options(), file, MADE);
    await store.commit([{ audit: '{"new":true}' }]);
    await store.close();
    const finish = () => Promise.reject(new Error('a stop on the way'));
    await assert.rejects(restore(source.options(), file, { replace: true, finish }), /on the way/);
    assert.equal((await contentsOf(source)).records.length, 2);
  });
});

/** What a place holds when nobody has it open. */
async function contentsOf(place: Place) {
  const store = await openStore(place.options());
  try {
    return await contents(store);
  } finally {
    await store.close();
  }
}

describe('a backup file', () => {
  const fresh = (): StoreOptions & { engine: 'sqlite' } => ({
    engine: 'sqlite',
    directory: mkdtempSync(join(directory, 'data-')),
  });

  async function madeBackup(): Promise<string> {
    const source = fresh();
    const store = await openStore(source);
    await store.commit([{ audit: '{"n":1}' }]);
    await store.close();
    const file = newFile();
    await backUp(source, file, MADE);
    return file;
  }

  const harm: [what: string, change: (file: string) => void, because: RegExp][] = [
    ['cut short', (file) => truncateSync(file, statSync(file).size - 1), /not a whole backup/],
    ['cut to nothing', (file) => truncateSync(file, 0), /not a whole backup/],
    ['with something behind it', (file) => appendFileSync(file, '\n'), /not a whole backup/],
    ['with one bit changed', (file) => flip(file, 5000), /checksum is wrong/],
    ['with a bit of its first page changed', (file) => flip(file, 0), /checksum is wrong/],
    [
      'with pages left out',
      (file) => {
        const bytes = readFileSync(file);
        writeFileSync(file, Buffer.concat([bytes.subarray(0, 4096), bytes.subarray(8192)]));
      },
      /checksum is wrong/,
    ],
    ['of a later schema', (file) => rewrite(file, 9999), /at schema 9999 .* a later one/],
  ];
  for (const [what, change, message] of harm) {
    test(`${what} is refused, and nothing is made of it`, async () => {
      const file = await madeBackup();
      change(file);
      const target = fresh();
      await assert.rejects(restore(target, file, NOTHING), { name: 'Failure', message });
      assert.deepEqual(readdirSync(target.directory), ['lock']);
    });
  }

  test('of any earlier schema is brought to the newest', async () => {
    for (const earlier of [MIGRATIONS.slice(0, 1), MIGRATIONS.slice(0, -1)]) {
      const file = newFile();
      const database = new DatabaseSync(file);
      database.exec(
        'create table schema_migration (number integer not null primary key, name text not null, applied_at integer not null) strict',
      );
      for (const { number, name, up } of earlier) {
        for (const statement of up(columnTypes('sqlite'))) database.exec(statement);
        database.prepare('insert into schema_migration values (?, ?, 0)').run(number, name);
      }
      writeFacts(database, { engine: 'sqlite', taken_at_ms: 0, program: '0.0.0' });
      database.close();
      appendChecksum(file);
      const target = fresh();
      const facts = await restore(target, file, NOTHING);
      assert.equal(facts.schema, earlier.at(-1)?.number);
      await (await openStore(target)).close();
      const restored = new DatabaseSync(join(target.directory, 'gatehouse.db'));
      assert.equal(readSchema(restored), MIGRATIONS.at(-1)?.number);
      restored.close();
    }
  });

  test('never overwrites a file', async () => {
    const file = newFile();
    writeFileSync(file, 'precious');
    await assert.rejects(backUp(fresh(), file, MADE), { kind: 'conflict' });
    assert.equal(readFileSync(file, 'utf8'), 'precious');
  });

  test('that was not restored to its end keeps a server from starting, and its neighbours do not', async () => {
    const target = fresh();
    const file = await madeBackup();
    assert.ok(target.engine === 'sqlite');
    mkdirSync(join(target.directory, 'gatehouse-restore-a1b2c3'), { recursive: true });
    mkdirSync(join(target.directory, 'restore-notes'));
    await assert.rejects(openStore(target), {
      kind: 'unavailable',
      message: /was not finished: repeat it, or remove ".*gatehouse-restore-a1b2c3"/,
    });
    assert.ok(!existsSync(join(target.directory, 'gatehouse.db')));
    await restore(target, file, NOTHING);
    await (await openStore(target)).close();
    assert.ok(existsSync(join(target.directory, 'restore-notes')));
  });

  test('is not left behind in part', async () => {
    const file = newFile();
    await assert.rejects(backUp(fresh(), file, MADE), /there is no database in/);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.startsWith(basename(file))),
      [],
    );
  });

  test('can be taken of what a killed server left, before anybody opens it again', async () => {
    const source = fresh();
    const store = await openStore(source);
    await store.commit([{ audit: '{"n":1}' }]);
    // The files as they are on the disk at this moment, its log not yet in the main file.
    const left = fresh();
    for (const name of ['gatehouse.db', 'gatehouse.db-wal']) {
      copyFileSync(join(source.directory, name), join(left.directory, name));
    }
    await store.close();
    const file = newFile();
    await backUp(left, file, MADE);
    const target = fresh();
    await restore(target, file, NOTHING);
    const restored = await openStore(target);
    assert.equal((await contents(restored)).records.length, 1);
    await restored.close();
  });

  function flip(file: string, at: number): void {
    const bytes = readFileSync(file);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  }

  /** Changes the database in a backup and gives it a right checksum again. */
  function rewrite(file: string, schema: number, change?: (database: DatabaseSync) => void): void {
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    if (schema > 0) {
      database.prepare("insert into schema_migration values (?, 'later', 0)").run(schema);
    }
    change?.(database);
    database.exec('vacuum');
    database.close();
    appendChecksum(file);
  }
});
