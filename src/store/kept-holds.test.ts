import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eachPlace, type Place } from '../../test/support/engines.ts';
import type { BatchWriter } from './batch.ts';
import { KeptHolds } from './kept-holds.ts';
import { planSteps } from './postgres/plan.ts';
import { PostgresWriter } from './postgres/writer.ts';
import { SqliteWriter } from './sqlite/writer.ts';
import type { Value, Write } from './write.ts';

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

test('holds of one statement are known by what they were asked, the last eight of them', () => {
  const holds = new KeptHolds(new Set());
  for (let at = 0; at < 9; at += 1) holds.set(HOLD, [at], at);
  const known = Array.from({ length: 10 }, (_, at) => holds.find(HOLD, [at]));
  assert.deepEqual(known, [undefined, 1, 2, 3, 4, 5, 6, 7, 8, undefined]);
  holds.note('update "thing" set "id" = $1');
  assert.equal(holds.find(HOLD, [8]), undefined);
  holds.set(HOLD, [1], 1);
  assert.equal(holds.find(HOLD, [2]), undefined);
});

test('what holds were asked by is not kept beyond their transaction', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const holds = new KeptHolds(new Set());
  const asked = Array.from({ length: 100 }, (_, at) => {
    const parameters = [at];
    holds.set(`${HOLD} /* ${at} */`, parameters, 1);
    return new WeakRef(parameters);
  });
  holds.forget();
  // What a reference was made to stays for the turn of the loop in which that was.
  await nextTurn();
  collect();
  assert.equal(asked.filter((one) => one.deref() !== undefined).length, 0);
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

eachPlace('each set of a transaction holds what it finds', (newPlace) => {
  let writer: BatchWriter;
  before(async () => {
    writer = await openWriter(await newPlace());
  });
  // Before its database is removed.
  after(() => writer.close());

  for (const [why, sets, written] of BATCHES) {
    test(why, async () => {
      await writer.run([[{ sql: 'delete from "resource_sequence"', parameters: [] }]]);
      await writer.run([[insertRow('x')]]);
      const batch = [...sets.map((set) => [hold('x', 1), ...set]), [hold('x', 2)]];
      const { outcomes } = await writer.run(batch);
      assert.deepEqual(
        outcomes.map((one) => one === null),
        written,
      );
    });
  }

  test('a row is held for all sets of a transaction that hold it', async () => {
    await writer.run([[{ sql: 'delete from "resource_sequence"', parameters: [] }]]);
    await writer.run([[insertRow('x')], [insertRow('y')]]);
    const batch = ['p', 'q', 'r'].map((name) => [hold('x', 1), insertSink(name)]);
    for (const [last, written] of [
      [[hold('y', 1)], true],
      [[hold('y', 2)], false],
    ] as const) {
      const { outcomes } = await writer.run([...batch, last]);
      const are = outcomes.map((one) => one === null);
      assert.deepEqual(are, [true, true, true, written]);
      await writer.run([[{ sql: 'delete from "audit_sink"', parameters: [] }]]);
    }
  });
});

async function openWriter(place: Place): Promise<BatchWriter> {
  // Which has the tables.
  await (await place.open()).close();
  const options = place.options();
  return options.engine === 'sqlite'
    ? new SqliteWriter(join(options.directory, 'gatehouse.db'), 'local')
    : PostgresWriter.open(options.url, 'local', () => {});
}

test('of a batch for PostgreSQL a hold is asked once, until what it looks at may have been written', () => {
  const asked = (batch: Write[][]) => {
    const head = { seq: 0, hash: new Uint8Array() };
    const { steps, sets } = planSteps('n', head, batch, new KeptHolds(new Set(['followed'])));
    return steps.map(({ sql }, at) => `${sets[at]} ${sql.split(' ')[0]}`);
  };
  const x = hold('x', 1);
  const others = [insertSink('a'), insertSink('b')];
  const held = others.map((other) => [x, other]);
  assert.deepEqual(asked(held), ['0 select', '0 insert', '1 insert']);
  assert.deepEqual(asked([[x], [hold('y', 1)], [x]]), ['0 select', '1 select']);
  assert.deepEqual(asked([[x], [{ ...x, rows: 0 }]]), ['0 select', '1 select']);
  // What is to find nothing in particular locks all the same.
  const any = { sql: x.sql, parameters: x.parameters };
  assert.deepEqual(asked([[any], [any]]), ['0 select', '1 select']);
  for (const between of [change('z', 2), run('insert into "followed" values (1)')]) {
    assert.equal(asked([[x], [between], [x]]).at(-1), '2 select');
  }
  // Of another batch nothing is known.
  assert.deepEqual(asked(held), asked(held));
});
