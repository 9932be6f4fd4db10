// As `plans.test.ts`, on PostgreSQL, whose plans go by what the tables hold: all of them are full of what
// the questions are about, but for what they ask for, and it is counted what each of them looks at.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, escapeLiteral } from 'pg';
import { createDb, type Db } from '../src/store/database.ts';
import { isKept } from '../src/store/pipeline.ts';
import { untilBytes } from '../src/store/postgres/reader.ts';
import { BY_INDEX } from '../src/store/postgres/session.ts';
import type { Value } from '../src/store/write.ts';
import { connectTo, eachPlace } from './support/engines.ts';
import { fillTables } from './support/full-tables.ts';
import { ROW, readsOf, writesOf } from './support/plan-cases.ts';
import { type Looked, lookedAt } from './support/postgres-looks.ts';

/** Rows of each table. */
const ROWS = 8_000;
/** The most rows that a page, or what is about few ids, looks at: pages have up to 2,000. */
const MOST = 2_500;
/** Counted in larger pages; the row that stands for the last of the first one is behind all others. */
const COUNTED = ['the number of leases', 'users who were active in a month'];
/** A plan for the values at hand, and the one that the database takes for a statement that comes often. */
const MODES = ['force_custom_plan', 'auto'] as const;

/** Few beside all rows: of many it is cheaper to go through a table of this size. */
const IDS = Array.from({ length: 20 }, (_, at) => `id-${at}`);

/** All rows lie in the scope that is asked for. */
const WHOLE = 'sessions of a scope';
const CASES = (await writesOf(IDS)).filter(([what]) => what !== WHOLE);
/** What comes often is planned as if each parent had as many children as the others: known to go through them. */
const modesOf = (what: string): readonly Mode[] =>
  what === 'dead tokens' ? ['force_custom_plan'] : MODES;

eachPlace('plans', (newPlace, engine) => {
  if (engine === 'sqlite') return;
  let connection: Promise<Client> | undefined;
  const open = (): Promise<Client> => {
    connection ??= newPlace().then(async (place) => {
      await place.open();
      const client = await connectTo(place);
      // The place is dropped with all who are connected.
      client.on('error', () => {});
      await fillTables(client, ROWS);
      await client.query(BY_INDEX);
      return client;
    });
    return connection;
  };

  for (const [name, , read] of readsOf(IDS)) {
    test(`a page of ${name} looks at little more than a page`, async () => {
      const client = await open();
      for (const mode of MODES) {
        const { db, looked } = noting(client, mode);
        await read(db);
        assert.ok(looked.length > 0);
        for (const one of looked) requireFew(one, COUNTED.includes(name) ? 2 * ROWS : MOST);
      }
    });
  }
  for (const [what, , effects] of CASES) {
    test(`what is done about ${what} looks at little else`, async () => {
      const client = await open();
      for (const mode of modesOf(what))
        for (const effect of effects) {
          assert.ok('sql' in effect);
          requireFew(await lookAt(client, mode, effect.sql, effect.parameters), MOST);
        }
    });
  }
});

function requireFew({ rows, scans, text }: Looked, most: number): void {
  assert.deepEqual(scans, [], text);
  assert.ok(rows <= most, `${rows} rows: ${text}`);
}

type Mode = (typeof MODES)[number];

/** A database that answers nothing of its own, and notes what PostgreSQL would have looked at. */
function noting(client: Client, mode: Mode): { db: Db; looked: Looked[] } {
  const looked: Looked[] = [];
  const all = async (text: string, parameters: readonly Value[]): Promise<unknown[]> => {
    looked.push(await lookAt(client, mode, text, parameters));
    return looked.length > 2 ? [] : [ROW];
  };
  const first = async (text: string, parameters: readonly Value[]): Promise<unknown> =>
    (await all(text, parameters))[0];
  const some = async (text: string, parameters: readonly Value[], columns: readonly string[]) => {
    return { rows: await all(untilBytes(text, columns), parameters), bytes: 0, more: false };
  };
  return { db: createDb({ all, first, some, close: async () => {} }), looked };
}

/** Runs a statement, and takes back what it did. */
async function lookAt(
  client: Client,
  mode: Mode,
  text: string,
  parameters: readonly Value[],
): Promise<Looked> {
  const values = parameters.map(literalOf).join(', ');
  await client.query(`begin; set local plan_cache_mode = ${mode}`);
  try {
    await client.query(`prepare asked as ${text}`);
    const execute = `execute asked${values === '' ? '' : `(${values})`}`;
    // From the sixth time on the database may take a plan for whatever values.
    for (let at = 0; at < 6 && isKept({ parameters }); at += 1)
      await client.query(`explain ${execute}`);
    const { rows } = await client.query(
      `explain (analyze, buffers, timing off, format json) ${execute}`,
    );
    return lookedAt(rows[0]['QUERY PLAN']);
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
  }
}

function literalOf(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return `'\\x${value.toHex()}'`;
  return escapeLiteral(String(value));
}
