import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Value, Write } from '../write.ts';
import { KeptHolds } from './kept-holds.ts';
import { SqliteWriter } from './writer.ts';

const HOLD = 'select 1 from "thing", "mount" where "thing"."id" = $1 for share';

const WRITES: [sql: string, isKnown: boolean, why: string][] = [
  ['insert into "other" ("id") values ($1)', true, 'a row of another table'],
  ['update "other" set "id" = $1', true, 'another table is changed'],
  ['insert into other (id) values ($1)', true, 'a name without quotation marks'],
  ['insert into "thing" ("id") values ($1)', false, 'a row of its table'],
  ['update "thing" set "id" = $1', false, 'its table is changed'],
  ['update mount set body = $1', false, 'another table of it, without quotation marks'],
  ['delete from "other" where "id" = $1', false, 'a deletion, which others may follow'],
  ['with "x" as (select 1) delete from "other"', false, 'something that begins otherwise'],
  ['insert or replace into "other" ("id") values ($1)', false, 'a row that takes the place of one'],
  ['update "followed" set "id" = $1', false, 'a table with triggers'],
];
for (const [sql, isKnown, why] of WRITES) {
  test(`what a hold has found is ${isKnown ? 'known' : 'asked again'} after a write: ${why}`, () => {
    const holds = new KeptHolds(new Set(['followed']));
    // The second time by what is remembered of the statements.
    for (let time = 0; time < 2; time++) {
      holds.forget();
      assert.equal(holds.find(HOLD, ['a']), undefined);
      holds.set(HOLD, ['a'], 1);
      holds.note(sql);
      assert.equal(holds.find(HOLD, ['a']), isKnown ? 1 : undefined);
    }
  });
}

const ASKED: [parameters: Value[], isKnown: boolean][] = [
  [['a', 1, null], true],
  [['b', 1, null], false],
  [['a', 1n, null], false],
  [['a', 1], false],
  [['a', 1, null, 1], false],
];
for (const [parameters, isKnown] of ASKED) {
  test(`a hold asked by ${parameters.length} parameters of ${typeof parameters[1]} is ${isKnown ? '' : 'not '}another one`, () => {
    const holds = new KeptHolds(new Set());
    holds.set(HOLD, ['a', 1, null], 1);
    assert.equal(holds.find(HOLD, parameters), isKnown ? 1 : undefined);
    assert.equal(holds.find(`${HOLD} `, parameters), undefined);
  });
}

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
const writer = new SqliteWriter(join(directory, 'gatehouse.db'), 'local');
after(() => {
  writer.close();
  rmSync(directory, { recursive: true });
});

const run = (sql: string, ...parameters: Value[]): Write => ({ sql, parameters, rows: 1 });
const insertRow = (id: string): Write =>
  run('insert into "resource_sequence" ("name", "value") values ($1, 1)', id);
const hold = (id: string, value: number): Write => ({
  ...run(
    'select 1 from "resource_sequence" where "name" = $1 and "value" = $2 for share',
    id,
    value,
  ),
  conflict: 'not held',
});
const change = (id: string, value: number): Write =>
  run('update "resource_sequence" set "value" = $2 where "name" = $1', id, value);
const insertSink = (name: string): Write =>
  run('insert into "audit_sink" ("name", "node", "seq") values ($1, $2, 1)', name, 'n');

/** Each set holds the row with the value 1 first; one more, behind them, holds it with the value 2. */
const BATCHES: [why: string, sets: Write[][], written: boolean[]][] = [
  ['nothing that is held is changed', [[], [insertSink('a')], []], [true, true, true, false]],
  ['what is held is changed', [[], [change('x', 2)], []], [true, true, false, true]],
  [
    'it is changed by a set that is refused in the end',
    [[], [change('x', 2), hold('x', 2), insertSink('a')]],
    [true, false, false],
  ],
  [
    'it is what it was again',
    [[], [change('x', 2), change('x', 1)], []],
    [true, true, true, false],
  ],
];
for (const [why, sets, written] of BATCHES) {
  test(`each set of a transaction holds what it finds: ${why}`, () => {
    writer.run([[{ sql: 'delete from "resource_sequence"', parameters: [] }]]);
    writer.run([[insertRow('x')]]);
    const batch = [...sets.map((set) => [hold('x', 1), ...set]), [hold('x', 2)]];
    const { outcomes } = writer.run(batch);
    assert.deepEqual(
      outcomes.map((one) => one === null),
      written,
    );
  });
}
