import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../test/support/engines.ts';
import { isConflict } from '../../core/failure.ts';
import {
  deleteCelRole,
  findCelRole,
  listCelRoleNames,
  measureCelRole,
  saveCelRole,
} from './store.ts';

const program = (expression: string) => ({
  variables: [{ name: 'a', expression: '1' }],
  expression,
});

eachEngine('a CEL role', (open) => {
  test('is kept as it was written, on its own mount, and goes', async () => {
    const store = await open();
    const place = { mount_id: 'm', name: 'é' };
    const first = { program: program('a == 1'), body_tag: 't1' };
    await store.commit([saveCelRole(place, { read: undefined, next: first })]);
    await store.commit([
      saveCelRole({ mount_id: 'o', name: 'x' }, { read: undefined, next: first }),
    ]);
    assert.deepEqual(await findCelRole(store.db, 'm', 'é'), first);
    assert.equal(await findCelRole(store.db, 'm', 'x'), undefined);
    assert.deepEqual(await listCelRoleNames(store.db, { mount_id: 'm', after: '', limit: 9 }), [
      'é',
    ]);
    const bytes = Buffer.byteLength(JSON.stringify(first.program));
    assert.equal(await measureCelRole(store.db, place), bytes);
    await store.commit([deleteCelRole('m', 'é')]);
    assert.equal(await findCelRole(store.db, 'm', 'é'), undefined);
  });

  test('is replaced only while it is what was read', async () => {
    const store = await open();
    const place = { mount_id: 'm', name: 'r' };
    const at = (body_tag: string) => ({ program: program(body_tag), body_tag });
    await store.commit([saveCelRole(place, { read: undefined, next: at('t1') })]);
    await store.commit([saveCelRole(place, { read: at('t1'), next: at('t2') })]);
    for (const read of [undefined, at('t1')]) {
      await assert.rejects(
        store.commit([saveCelRole(place, { read, next: at('t3') })]),
        isConflict,
      );
    }
    assert.equal((await findCelRole(store.db, 'm', 'r'))?.body_tag, 't2');
  });
});
