import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Whoever has logged in, under however many names, and groups hold nobody up who asks for lists of them. */

const { running, call, url } = await startTestServer({ after });
const { store } = running.app;

const COUNT = 30_000;
const GROUPS = 5_000;

before(async () => {
  await call('POST', 'sys/auth/up', { type: 'userpass' });
  await call('POST', 'auth/up/users/ann', { password: 'password' });
  const made = await call('POST', 'auth/up/login/ann', { password: 'password' }, { token: '' });
  const id = made.textAt('auth.entity_id');
  const names = { id: numbered('id'), name: numbered('name'), name_key: numbered('name_key') };
  await copyRow(store, 'identity_entity', { of: { id }, copies: COUNT, changes: names });
  const changes = { ...names, entity_id: numbered('entity_id') };
  await copyRow(store, 'identity_alias', { of: { entity_id: id }, copies: COUNT, changes });
  const group = await call('POST', 'identity/group', { name: 'g', member_entity_ids: [id] });
  const of = { id: group.textAt('data.id') };
  await copyRow(store, 'identity_group', { of, copies: GROUPS, changes: names });
});

/** The answer's bytes as they come: to read them as JSON is no work of the server. */
async function readAll(path: string): Promise<string> {
  const headers = { 'x-vault-token': 'root' };
  const response = await fetch(`${url}/v1/${path}?list=true`, { headers });
  assert.equal(response.status, 200);
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

interface Listed {
  keys: string[];
  key_info?: Record<string, { name: string; aliases?: { name: string }[] }>;
}

const LISTS: [path: string, count: number, isTold: boolean][] = [
  ['identity/entity/id', COUNT, true],
  ['identity/entity/name', COUNT, false],
  ['identity/entity-alias/id', COUNT, true],
  ['identity/group/id', GROUPS, true],
  ['identity/group/name', GROUPS, false],
];

for (const [path, count, isTold] of LISTS) {
  test(`nobody is held up by the list ${path}, and each is in it once`, async () => {
    let text = '';
    await holdsNobodyUp(async () => {
      text = await readAll(path);
    });
    const { data }: { data: Listed } = JSON.parse(text);
    assert.equal(data.keys.length, count + 1);
    assert.equal(new Set(data.keys).size, count + 1);
    assert.equal('key_info' in data, isTold);
    if (isTold) assert.deepEqual(Object.keys(data.key_info ?? {}).sort(), data.keys.sort());
  });
}

test('of each entity its own aliases are told, also in a long list', async () => {
  const { data }: { data: Listed } = JSON.parse(await readAll('identity/entity/id'));
  for (const { name, aliases } of Object.values(data.key_info ?? {})) {
    const number = /^\d{7}-/.exec(name)?.[0] ?? '';
    assert.deepEqual(
      aliases?.map((alias) => alias.name),
      [`${number}ann`],
    );
  }
});
