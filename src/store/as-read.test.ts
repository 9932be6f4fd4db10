import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo, eachEngine, eachPlace } from '../../test/support/engines.ts';
import { isConflict } from '../core/failure.ts';
import { deleteAsRead, holdAsRead, saveAsRead } from './as-read.ts';
import { build } from './database.ts';
import type { Store } from './store.ts';
import { type Write, write } from './write.ts';
import { WrittenTables } from './written-tables.ts';

const key = { name: 'web' };
const save = (read: string | undefined, body: string): Write =>
  saveAsRead('token_role', {
    key,
    read: read === undefined ? read : { body: read },
    next: { body },
  });
const remove = (body: string): Write => deleteAsRead('token_role', { key, read: { body } });
const hold = (body: string): Write => holdAsRead('token_role', { key, read: { body } });
const place = (body: string): Write =>
  write(build.insertInto('token_role').values({ ...key, body }), { rows: 1 });

async function bodyIn(store: Store): Promise<string | undefined> {
  const query = store.db.selectFrom('token_role').select('body').where('name', '=', key.name);
  return (await query.executeTakeFirst())?.body;
}

type Attempt = [name: string, there: string | undefined, effect: Write, left: string | undefined];

const granted: Attempt[] = [
  ['a row that was not there, inserted', undefined, save(undefined, 'new'), 'new'],
  ['a row that is what was read, changed', 'old', save('old', 'new'), 'new'],
  ['a row that is what was read, written as it was', 'old', save('old', 'old'), 'old'],
  ['a row that is what was read, removed', 'old', remove('old'), undefined],
  ['a row that is what was read, held', 'old', hold('old'), 'old'],
];
const refused: Attempt[] = [
  ['a row that has come, not overwritten', 'theirs', save(undefined, 'new'), 'theirs'],
  ['a row that has changed, not overwritten', 'theirs', save('old', 'new'), 'theirs'],
  ['a row that is gone, not made again', undefined, save('old', 'new'), undefined],
  ['a row that has changed, not removed', 'theirs', remove('old'), 'theirs'],
  ['a row that is gone, not removed again', undefined, remove('old'), undefined],
  ['a row that has changed, not held for what it was', 'theirs', hold('old'), 'theirs'],
  ['a row that is gone, not held', undefined, hold('old'), undefined],
];

eachEngine('a row that is written as it was read', (open) => {
  for (const [name, there, effect, left] of granted) {
    test(name, async () => {
      const store = await open();
      if (there !== undefined) await store.commit([place(there)]);
      await store.commit([effect]);
      assert.equal(await bodyIn(store), left);
    });
  }

  for (const [name, there, effect, left] of refused) {
    test(name, async () => {
      const store = await open();
      if (there !== undefined) await store.commit([place(there)]);
      await assert.rejects(store.commit([effect]), isConflict);
      assert.equal(await bodyIn(store), left);
    });
  }

  test('what was null when it was read has to be null still', async () => {
    const store = await open();
    const token = { key: { id: 'a' }, read: undefined };
    const bare = {
      accessor: 'a',
      mount_id: '',
      alias_id: '',
      uses_left: 0,
      renewed_at: null,
      body: '{}',
    };
    const orphan = { ...bare, parent_id: null, expires_at: null };
    const expiring = (expires_at: number) =>
      saveAsRead('token', {
        ...token,
        read: { expires_at: null },
        next: { ...orphan, expires_at },
      });
    await store.commit([saveAsRead('token', { ...token, next: orphan })]);
    await store.commit([expiring(1)]);
    await assert.rejects(store.commit([expiring(2)]), isConflict);
  });
});

test('a row that was saved or deleted as it was read counts as written', () => {
  const tables = new WrittenTables(['token_role']);
  for (const effect of [save(undefined, 'a'), save('a', 'b'), remove('b')]) {
    assert.deepEqual([...tables.of([[effect]])], ['token_role']);
  }
});

eachPlace('a row that another node is changing', (newPlace, engine) => {
  if (engine !== 'postgres') return;
  const theirs = {
    removed: "delete from token_role where name = 'web'",
    changed: "update token_role set body = 'theirs' where name = 'web'",
  };
  for (const [what, statement] of Object.entries(theirs)) {
    for (const effect of [save('old', 'new'), remove('old')]) {
      test(`is waited for; once ${what}, ${effect.sql.slice(0, 6)} is refused`, async (t) => {
        const at = await newPlace();
        const store = await at.open();
        await store.commit([place('old')]);
        const other = await connectTo(at);
        t.after(() => other.end());
        await other.query('begin');
        await other.query(statement);
        const outcome = store.commit([effect]).then(
          () => false,
          (error: unknown) => isConflict(error),
        );
        await other.query('commit');
        assert.equal(await outcome, true);
        assert.equal(await bodyIn(store), what === 'removed' ? undefined : 'theirs');
      });
    }
  }
});

test('a row cannot be written by mistake without a look at what it was', () => {
  assert.throws(
    () => saveAsRead('token_role', { key, read: {}, next: { body: 'new' } }),
    /name a column/,
  );
  assert.throws(() => deleteAsRead('token_role', { key, read: {} }), /name a column/);
});
