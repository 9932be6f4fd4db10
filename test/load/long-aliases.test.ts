// Of aliases others may say tens of kilobytes: lists that tell of them hold nobody up, and are told whole.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const { running, call } = await startTestServer({ after });
const { store } = running.app;

const COUNT = 400;
/** Aliases of one entity. */
const MANY = 1_200;

before(async () => {
  await call('POST', 'sys/auth/up', { type: 'userpass' });
  const accessor = (await call('GET', 'sys/auth/up')).textAt('data.accessor');
  const pairs = Array.from({ length: 64 }, (_, at) => [`${at}`, 'x'.repeat(500)]);
  const custom_metadata = Object.fromEntries(pairs);
  const made = await call('POST', 'identity/entity', { name: 'one' });
  const id = made.textAt('data.id');
  const alias = { name: 'ann', mount_accessor: accessor, canonical_id: id, custom_metadata };
  assert.equal((await call('POST', 'identity/entity-alias', alias)).status, 200);
  const names = { id: numbered('id'), name: numbered('name'), name_key: numbered('name_key') };
  await copyRow(store, 'identity_entity', { of: { id }, copies: COUNT, changes: names });
  const changes = { ...names, entity_id: numbered('entity_id') };
  await copyRow(store, 'identity_alias', { of: { entity_id: id }, copies: COUNT, changes });
  const many = (await call('POST', 'identity/entity', { name: 'many' })).textAt('data.id');
  const other = { name: 'bob', mount_accessor: accessor, canonical_id: many };
  await call('POST', 'identity/entity-alias', other);
  await copyRow(store, 'identity_alias', {
    of: { entity_id: many },
    copies: MANY - 1,
    changes: { ...names, mount_accessor: numbered('mount_accessor') },
  });
});

interface Told {
  keys: string[];
  key_info: Record<string, { name: string; aliases: Record<string, unknown>[] }>;
}

async function list(path: string): Promise<Told> {
  let text = '';
  await holdsNobodyUp(async () => {
    const reply = await call('LIST', path);
    assert.equal(reply.status, 200);
    text = reply.text;
  });
  return JSON.parse(text).data;
}

test('entities are listed with what they are called, and not with what is said of that', async () => {
  const { keys, key_info } = await list('identity/entity/id');
  assert.deepEqual(Object.keys(key_info).sort(), keys.sort());
  const counts = Object.values(key_info).map(({ aliases }) => aliases.length);
  assert.deepEqual(
    counts.filter((count) => count !== 1),
    [MANY],
  );
  assert.equal(counts.length, COUNT + 2);
  for (const { aliases } of Object.values(key_info)) {
    for (const alias of aliases) {
      if (aliases.length === 1) assert.equal(alias.mount_path, 'auth/up/');
      assert.ok(!('custom_metadata' in alias));
    }
  }
});

test('aliases are listed with what is said of them', async () => {
  const { keys, key_info } = await list('identity/entity-alias/id');
  assert.equal(keys.length, COUNT + 1 + MANY);
  const long = Object.values(key_info).filter((alias) => JSON.stringify(alias).length > 30_000);
  assert.equal(long.length, COUNT + 1);
});

test('aliases of groups are listed with what is said of them, however many there are', async () => {
  const accessor = (await call('GET', 'sys/auth/up')).textAt('data.accessor');
  const group = { name: 'outside', type: 'external' };
  const canonical_id = (await call('POST', 'identity/group', group)).textAt('data.id');
  const alias = { name: 'staff', mount_accessor: accessor, canonical_id };
  const id = (await call('POST', 'identity/group-alias', alias)).textAt('data.id');
  const alone = await list('identity/group-alias/id');
  assert.deepEqual(alone.keys, [id]);
  assert.deepEqual(Object.keys(alone.key_info), [id]);
  const changes = {
    id: numbered('id'),
    group_id: numbered('group_id'),
    name: sql`${sql.ref('name')} || (1000000 + n.i) || ${'x'.repeat(400)}`,
  };
  const names = { id: numbered('id'), name: numbered('name'), name_key: numbered('name_key') };
  const of = { id: canonical_id };
  await copyRow(store, 'identity_group', { of, copies: 12_000, changes: names });
  await copyRow(store, 'identity_group_alias', { of: { id }, copies: 12_000, changes });
  const { keys, key_info } = await list('identity/group-alias/id');
  assert.equal(keys.length, 12_001);
  assert.deepEqual(Object.keys(key_info).sort(), keys.sort());
  for (const told of Object.values(key_info)) {
    assert.match(told.name, /^staff/);
    assert.equal(Reflect.get(told, 'mount_path'), 'auth/up/');
  }
});
