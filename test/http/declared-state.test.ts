/** Clients that declare a state write it, read it back, and compare: what they read is what they sent. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

before(async () => {
  await call('POST', 'sys/auth/approle', { type: 'approle' });
});

const ROLE = 'auth/token/roles/ci';

const policies: [sent: unknown, read: string[], why: string][] = [
  [['b', 'a'], ['b', 'a'], 'a list'],
  ['c,d', ['c', 'd'], 'a text with commas'],
  [null, ['c', 'd'], 'null leaves them'],
  [['a'], ['a'], 'a shorter list takes their place'],
  [undefined, ['a'], 'what is not sent stays'],
  [[], [], 'an empty list takes all away'],
];

test('allowed_policies of a token role change as they are sent', async () => {
  for (const [allowed_policies, read, why] of policies) {
    const written = await call('POST', ROLE, { allowed_policies, orphan: true });
    assert.equal(written.status, 204, written.text);
    assert.deepEqual((await call('GET', ROLE)).field('data.allowed_policies'), read, why);
  }
});

test('a token may have the policies that its role allows by now, and not those it allowed before', async () => {
  const make = async (name: string): Promise<number> =>
    (await call('POST', 'auth/token/create/ci', { policies: [name] })).status;
  await call('POST', ROLE, { allowed_policies: ['before'] });
  assert.deepEqual([await make('before'), await make('after')], [200, 400]);
  await call('POST', ROLE, { allowed_policies: ['after'] });
  assert.deepEqual([await make('before'), await make('after')], [400, 200]);
});

test('a group is changed by its name, and by no name of another', async () => {
  const write = (body: object) => call('POST', 'identity/group', body);
  const first = await write({ name: 'g', policies: ['a'], metadata: { x: '1' } });
  const changed = await write({ name: 'g', policies: ['b'] });
  assert.equal(changed.textAt('data.id'), first.textAt('data.id'));
  const read = await call('GET', 'identity/group/name/g');
  assert.deepEqual(read.field('data.policies'), ['b']);
  assert.deepEqual(read.field('data.metadata'), { x: '1' });
  const other = await write({ name: 'h' });
  assert.notEqual(other.textAt('data.id'), first.textAt('data.id'));
  const taken = await write({ id: other.textAt('data.id'), name: 'g' });
  assert.equal(taken.status, 400);
  assert.match(taken.text, /group name is already in use/);
});

const local: [made: unknown, sent: unknown, status: number][] = [
  [true, false, 400],
  [true, true, 204],
  [true, undefined, 204],
  [undefined, true, 400],
  [undefined, false, 204],
  [false, 'true', 400],
];

for (const [at, [made, sent, status]] of local.entries()) {
  test(`local_secret_ids of a role made with ${made} ${status === 204 ? 'may' : 'may not'} be written as ${sent}`, async () => {
    const path = `auth/approle/role/local-${at}`;
    const role = { local_secret_ids: made, token_ttl: '1h' };
    assert.equal((await call('POST', path, role)).status, 204);
    const changed = await call('POST', path, { local_secret_ids: sent, token_ttl: '2h' });
    assert.equal(changed.status, status, changed.text);
    if (status === 400) assert.match(changed.text, /only be modified during role creation/);
    const read = await call('GET', path);
    assert.equal(read.field('data.local_secret_ids'), made ?? false);
    assert.equal(read.field('data.token_ttl'), status === 204 ? 7200 : 3600);
  });
}

for (const made of [{}, { secret_id: 'chosen by hand' }]) {
  test(`a wrapped secret ID is told by its accessor, ${Object.keys(made).length > 0 ? 'chosen' : 'random'}`, async () => {
    await call('POST', 'auth/approle/role/app', {});
    const end = 'secret_id' in made ? 'custom-secret-id' : 'secret-id';
    const wrapped = await call('POST', `auth/approle/role/app/${end}`, made, {
      headers: { 'x-vault-wrap-ttl': '60' },
    });
    const token = wrapped.textAt('wrap_info.token');
    const opened = await call('POST', 'sys/wrapping/unwrap', {}, { token });
    const accessor = opened.textAt('data.secret_id_accessor');
    assert.notEqual(accessor, '');
    assert.equal(wrapped.field('wrap_info.wrapped_accessor'), accessor);
    assert.equal(opened.field('wrapped_accessor'), undefined);
    assert.doesNotMatch(wrapped.text, new RegExp(opened.textAt('data.secret_id')));
    // What is read of a secret ID is none that is made.
    const read = await call(
      'POST',
      'auth/approle/role/app/secret-id-accessor/lookup',
      { secret_id_accessor: accessor },
      { headers: { 'x-vault-wrap-ttl': '60' } },
    );
    assert.equal(read.status, 200, read.text);
  });
}
