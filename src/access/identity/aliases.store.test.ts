import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { hasOtherAlias, insertAlias } from './aliases.store.ts';
import { insertEntity } from './entities.store.ts';
import type { Alias } from './entity.ts';
import { newEntity } from './operations.ts';

eachEngine('aliases', (open) => {
  test('an entity has another one where its mount calls it something else as well', async () => {
    const { app } = await openTestApp(await open());
    const entities = ['ann', 'bob'].map((name) => newEntity(app, name));
    const [ann = '', bob = ''] = entities.map(({ id }) => id);
    const alias = (id: string, entity_id: string, mount_accessor: string): Alias => ({
      ...{ id, entity_id, mount_accessor, name: id, custom_metadata: {} },
      ...{ moves: 0, created_at_ms: 1, updated_at_ms: 1 },
    });
    await app.store.commit([
      ...entities.map(insertEntity),
      insertAlias(alias('a', ann, 'userpass_1')),
      insertAlias(alias('b', bob, 'userpass_1')),
    ]);
    for (const [asked, found] of [
      [alias('a', ann, 'userpass_1'), false],
      [alias('new', ann, 'userpass_1'), true],
      [alias('new', ann, 'userpass_2'), false],
      [alias('new', bob, 'userpass_1'), true],
      [alias('a', bob, 'userpass_1'), true],
      [alias('a', bob, 'userpass_2'), false],
    ] as const) {
      assert.equal(await hasOtherAlias(app.db, asked), found, JSON.stringify(asked));
    }
  });
});
