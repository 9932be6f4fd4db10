import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { bodyLength } from './body-length.ts';
import { build } from './database.ts';
import { write } from './write.ts';

const measure = bodyLength('token_role', ['name']);

eachEngine('how long a row is', (open) => {
  test('it is counted in bytes, and there are none of what is not there', async () => {
    const store = await open();
    const body = JSON.stringify({ text: 'ʼ'.repeat(1000) });
    await store.commit([write(build.insertInto('token_role').values({ name: 'r', body }))]);
    assert.equal(await measure(store.db, { name: 'r' }), Buffer.byteLength(body));
    assert.equal(await measure(store.db, { name: 'R' }), 0);
  });
});
