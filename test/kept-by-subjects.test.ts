import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { listGroupsAbove } from '../src/access/identity/memberships.operations.ts';
import { readAcl } from '../src/access/permissions/sets.operations.ts';
import type { App } from '../src/app/app.ts';
import { loadGrantSet, readEverybody } from '../src/broker/iam/grants/operations.ts';
import { readScopeTree } from '../src/broker/resource/scope-tree/operations.ts';
import { readWorkers } from '../src/broker/workers/worker-cache.operations.ts';
import { findMountByAccessor, findMountById, readMounts } from '../src/mounts/operations.ts';
import { readMountState as readIssuers } from '../src/pki/mount-state/operations.ts';
import { cacheConfig } from '../src/store/config-cache.ts';
import { createDb } from '../src/store/database.ts';
import { SqliteReader } from '../src/store/sqlite/reader.ts';
import type { Value } from '../src/store/write.ts';
import { readListed } from '../src/system/mounts/listing.operations.ts';
import { openTestApp } from './support/app.ts';
import { sqlitePlace } from './support/engines.ts';

/** What is kept by its subjects is read from rows whose triggers count their versions, and from no others. */

interface Query {
  sql: string;
  parameters: readonly Value[];
}

const place = sqlitePlace();
const store = await place.open();
const options = place.options();
assert.ok(options.engine === 'sqlite');
const reader = new SqliteReader(join(options.directory, 'gatehouse.db'));
after(async () => {
  await reader.close();
  await place.remove();
});

/** Which of the subjects changed, and since when which of the scopes: that says what is read. */
const TELLING = /from "(config_subject|resource_sequence|scope_change)"/;

const queries: Query[] = [];
function note<Args extends readonly unknown[], Result>(
  read: (sql: string, parameters: Query['parameters'], ...more: Args) => Result,
) {
  return (sql: string, parameters: Query['parameters'], ...more: Args): Result => {
    if (!TELLING.test(sql)) queries.push({ sql, parameters });
    return read(sql, parameters, ...more);
  };
}
const db = createDb({
  all: note(reader.all.bind(reader)),
  first: note(reader.first.bind(reader)),
  some: note(reader.some.bind(reader)),
  close: () => reader.close(),
});

const { app: real } = await openTestApp({ ...store, db });
/** Seals and unseals the server, as far as that is about what is kept. */
const forget = (): void => {
  for (const listener of onSeal) listener();
};
const onSeal: (() => void)[] = [];
const { cached } = cacheConfig({ ...store, db }, { onSeal: (listener) => onSeal.push(listener) });
const named = new Map<string, readonly string[]>();
const app: App = {
  ...real,
  cached: (key, load, subjects) => {
    if (subjects) named.set(key, subjects);
    return cached(key, load, subjects);
  },
};

/** Of so many all nestings are read at once. */
const MANY_GROUPS = Array.from({ length: 1_001 }, (_, at) => `g${at}`);

/** Reads what is kept under the key for the first time. */
const READERS: readonly [key: string, read: () => unknown][] = [
  ['mounts by id', () => findMountById(app, 'x')],
  ['mounts by accessor', () => findMountByAccessor(app, 'x')],
  ['mounts', () => readMounts(app)],
  ['mounts that everybody sees', () => readListed(app)],
  ['identity:parents', () => listGroupsAbove(app, ['g'])],
  ['identity:all-parents', () => listGroupsAbove(app, MANY_GROUPS)],
  ['policies:acls', () => readAcl(app, ['default', 'p'], undefined)],
  ['policies:lists', () => readAcl(app, ['default', 'q'], undefined)],
  ['broker/grant-sets', () => loadGrantSet(app, { user_id: 'u_anon', account_id: '' })],
  ['broker/everybody', () => readEverybody(app)],
  ['broker/scopes', () => readScopeTree(app)],
  ['broker/workers', () => readWorkers(app)],
];

/** Texts of the triggers that count a subject, by table. */
async function triggersOf(subjects: readonly string[]): Promise<Map<string, string[]>> {
  const rows = (await reader.all(
    "select tbl_name, sql from sqlite_master where type = 'trigger'",
    [],
  )) as { tbl_name: string; sql: string }[];
  const found = new Map<string, string[]>();
  for (const { tbl_name, sql } of rows) {
    if (!subjects.some((subject) => sql.includes(`'${subject}'`))) continue;
    found.set(tbl_name, [...(found.get(tbl_name) ?? []), sql]);
  }
  return found;
}

for (const [key, read] of READERS) {
  test(`"${key}" is read from nothing but its subjects`, async () => {
    queries.length = 0;
    forget();
    await read();
    const subjects = named.get(key);
    assert.ok(subjects, 'it names subjects');
    assert.ok(queries.length > 0, 'it reads');
    const triggers = await triggersOf(subjects);
    for (const { sql, parameters } of queries) {
      for (const [, table = ''] of sql.matchAll(/\b(?:from|join) "(\w+)"/g)) {
        const counted = triggers.get(table) ?? [];
        for (const operation of ['insert', 'update', 'delete']) {
          const fits = counted.some((text) => {
            if (!text.includes(` after ${operation} `)) return false;
            const [, value] = / = '([^']+)'\)? begin/.exec(text) ?? [];
            return value === undefined || parameters.includes(value) || sql.includes(`'${value}'`);
          });
          assert.ok(fits, `${operation} on ${table} is counted: ${sql}`);
        }
      }
    }
  });
}

test('the state of a mount is read from nothing but its subject', async () => {
  await readMounts(app);
  queries.length = 0;
  await readIssuers(app, 'x');
  assert.ok(queries.length > 0);
  const counted = new Set((await triggersOf(['pki/'])).keys());
  for (const { sql } of queries) {
    for (const [, table = ''] of sql.matchAll(/\b(?:from|join) "(\w+)"/g)) {
      assert.ok(counted.has(table), `${table} is counted`);
      assert.match(sql, /"mount_id" = /);
    }
  }
});

test('whatever names subjects is among those above', () => {
  const naming = globSync('src/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\.cached\(\s*'([^']+)'/g)].map((match) => ({
        key: match[1] ?? '',
        call: callFrom(match),
      })),
    )
    .filter(({ call }) => /,\s*\[\s*'[^']+'[^\]]*\],?\s*\)$/.test(call))
    .map(({ key }) => key);
  assert.deepEqual(naming.sort(), READERS.map(([key]) => key).sort());
});

/** The text of a call, up to the bracket that closes it. */
function callFrom({ input = '', index }: { input?: string; index?: number }): string {
  const begin = input.indexOf('(', index);
  let depth = 0;
  for (let at = begin; at < input.length; at += 1) {
    if (input[at] === '(') depth += 1;
    if (input[at] === ')') depth -= 1;
    if (depth === 0) return input.slice(begin, at + 1);
  }
  return '';
}
