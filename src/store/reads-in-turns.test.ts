import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eachEngine, sqlitePlace } from '../../test/support/engines.ts';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { doFor } from '../core/fairness/asking.ts';
import { build, type Db } from './database.ts';
import { write } from './write.ts';

const place = sqlitePlace();
after(() => place.remove());

async function readPages(db: Db, pages: number): Promise<number> {
  let rows = 0;
  for (let page = 0; page < pages; page += 1) {
    const some = db.selectFrom('token_role').selectAll().orderBy('name').limit(200);
    rows += (await some.execute()).length;
  }
  return rows;
}

test('a loop over pages of SQLite holds nobody up', async () => {
  const store = await place.open();
  const insert = (at: number) =>
    write(build.insertInto('token_role').values({ name: `role-${at}`, body: '{}' }));
  await store.commit(Array.from({ length: 200 }, (_, at) => insert(at)));
  await holdsNobodyUp(async () => {
    // Some 300 ms in one turn.
    assert.equal(await readPages(store.db, 2_000), 400_000);
  });
  await store.close();
});

eachEngine('reads in turns', (open, engine) => {
  test('one who reads a little waits for a few reads of a hundred who read on and on', async () => {
    const { db, commit } = await open();
    const insert = (at: number) =>
      write(build.insertInto('token_role').values({ name: `role-${at}`, body: '{}' }));
    await commit(Array.from({ length: 500 }, (_, at) => insert(at)));
    const read = () => db.selectFrom('token_role').selectAll().orderBy('name').execute();
    let done = 0;
    let isOver = false;
    const readOn = async (): Promise<void> => {
      while (!isOver) {
        await read();
        done += 1;
      }
    };
    const many = Array.from({ length: 100 }, () => doFor('192.0.2.1', readOn));
    while (done < 300) await nextTurn();
    const before = done;
    await doFor('198.51.100.7', async () => {
      for (let at = 0; at < 10; at += 1) await read();
    });
    const meanwhile = done - before;
    isOver = true;
    await Promise.all(many);
    // Several are begun in a turn, or are under way on as many connections. In one line it were a thousand.
    assert.ok(meanwhile < 200, `${meanwhile}`);
  });

  // SQLite is read by one after the other.
  if (engine === 'sqlite') return;

  test('what many connections have read goes on in turns of the event loop where it is long', async () => {
    const { db, commit } = await open();
    const body = 'x'.repeat(200_000);
    await commit([write(build.insertInto('token_role').values({ name: 'long', body }))]);
    const read = () => db.selectFrom('token_role').selectAll().execute();
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    const inTurns: number[] = [];
    const readOn = async (): Promise<void> => {
      await read();
      inTurns.push(turn);
      // What is made of it.
      for (const until = performance.now() + 8; performance.now() < until; );
    };
    count();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 8 }, (_, at) => doFor(`192.0.2.${at}`, readOn)));
    }
    isOver = true;
    const most = Math.max(...inTurns.map((at) => inTurns.filter((one) => one === at).length));
    assert.ok(most <= 2, `${most}`);
  });
});
