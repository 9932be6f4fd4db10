import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storePoliciesOfGroup } from '../support/older-group.ts';
import { startTestServer } from '../support/server.ts';

const MOST = 65_536;
const names = (characters: number): string[] =>
  Array.from({ length: characters / 1024 }, (_, at) => `x${at}-`.padEnd(1024, 'x'));

/** Names that are looked up for each request: what may be written is what each such record keeps. */
const PLACES: [method: string, path: string, field: string, more?: Record<string, unknown>][] = [
  ['POST', 'auth/token/create', 'policies', { no_default_policy: true }],
  ['POST', 'auth/token/create-orphan', 'policies', { no_default_policy: true }],
  ['POST', 'auth/token/create/open', 'policies', { no_default_policy: true }],
  ['POST', 'auth/token/roles/r1', 'allowed_policies'],
  ['POST', 'auth/token/roles/r1', 'disallowed_policies'],
  ['POST', 'auth/token/roles/r1', 'allowed_policies_glob'],
  ['POST', 'auth/token/roles/r1', 'disallowed_policies_glob'],
  ['POST', 'auth/token/roles/r1', 'allowed_entity_aliases'],
  ['POST', 'auth/people/users/ann', 'token_policies', { password: 'long enough' }],
  ['POST', 'auth/people/users/bob', 'policies', { password: 'long enough' }],
  ['POST', 'auth/people/users/ann/policies', 'token_policies'],
  ['POST', 'auth/people/users/ann/policies', 'policies'],
  ['POST', 'auth/machines/role/m1', 'token_policies'],
  ['POST', 'auth/machines/role/m2', 'policies'],
  ['POST', 'identity/entity', 'policies', { name: 'e1' }],
  ['POST', 'identity/entity/name/e2', 'policies'],
  ['POST', 'identity/group', 'policies', { name: 'g1' }],
  ['POST', 'identity/group/name/g2', 'policies'],
];

test('names of policies have a bound wherever they are written, and the refusal names the field', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  await call('POST', 'sys/auth/machines', { type: 'approle' });
  await call('POST', 'auth/token/roles/open', { allowed_policies_glob: ['x*'] });
  for (const [method, path, field, more] of PLACES) {
    const write = (list: string[]) => call(method, path, { ...more, [field]: list });
    const longer = await write([...names(MOST), 'z']);
    assert.equal(longer.status, 400, `${path} ${field}: ${longer.text.slice(0, 200)}`);
    assert.match(longer.text, new RegExp(`\\b${field}\\b.*65536`), path);
    // "default" comes to what accounts say.
    const most = await write(names(MOST - 1024));
    assert.ok(most.status < 300, `${path} ${field}: ${most.text.slice(0, 200)}`);
  }
});

test('blocks of addresses have the same bound: a zone of an address may be any text', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  const blocks = (count: number) =>
    Array.from({ length: count }, (_, at) => `fe80::1%${at}-`.padEnd(1024, 'z'));
  for (const [path, more] of [
    ['auth/token/roles/r1', {}],
    ['auth/people/users/ann', { password: 'long enough' }],
  ] as const) {
    const refused = await call('POST', path, { ...more, token_bound_cidrs: blocks(65) });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /token_bound_cidrs.*65536/);
  }
});

test('an entity has no more by all its groups than by itself', async (t) => {
  const { call, running } = await startTestServer(t);
  const id = (
    await call('POST', 'identity/entity', { name: 'e', policies: names(MOST / 2) })
  ).textAt('data.id');
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  await call('POST', 'auth/people/users/ann', { password: 'long enough' });
  const accessor = (await call('GET', 'sys/auth/people')).textAt('data.accessor');
  const alias = { name: 'ann', canonical_id: id, mount_accessor: accessor };
  await call('POST', 'identity/entity-alias', alias);
  const addGroup = (name: string, policies: string[]) =>
    call('POST', 'identity/group', { name, policies, member_entity_ids: [id] });
  const logIn = () =>
    call('POST', 'auth/people/login/ann', { password: 'long enough' }, { token: '' });

  const others = names(MOST / 2).map((name) => `y${name.slice(1)}`);
  assert.ok((await addGroup('same', names(MOST / 2))).status < 300);
  assert.ok((await addGroup('half', others)).status < 300);
  const token = (await logIn()).textAt('auth.client_token');
  const lookUp = () => call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.equal((await lookUp()).status, 200);

  const more = await addGroup('more', ['z']);
  assert.equal(more.status, 400, 'nobody is taken into a group who would have too many');
  assert.match(more.text, /member_entity_ids/);
  assert.equal((await lookUp()).status, 200);

  const grown = [...others, 'z'];
  const refused = await call('POST', 'identity/group/name/half', { policies: grown });
  assert.equal(refused.status, 400, 'nor gets anybody in a group too many');
  assert.match(refused.text, /policies: somebody in the group/);
  assert.equal((await lookUp()).status, 200);

  // As it may have been stored before it was refused: it is seen when they come.
  await storePoliciesOfGroup(running.app, 'half', grown);
  assert.equal((await lookUp()).status, 403);
  assert.equal((await logIn()).status, 400);
  const written = await call('POST', `identity/entity/id/${id}`, { policies: names(MOST / 2) });
  assert.equal(written.status, 400);
  assert.match(written.text, /policies: .*65536 characters/);
  assert.ok((await call('POST', 'identity/group/name/half', { policies: others })).status < 300);
  assert.equal((await lookUp()).status, 200);
});

const conditions: [field: string, harmless: unknown, refused: unknown][] = [
  ['expiration', '', '2030-01-01T00:00:00Z'],
  ['ttl', 0, '1h'],
  ['cas', '', -1],
  ['cas_required', false, true],
];
for (const [field, harmless, refused] of conditions) {
  for (const path of ['sys/policies/acl/conditional', 'sys/policy/conditional']) {
    test(`a policy that is to depend on ${field} is refused at ${path}, and written without it`, async (t) => {
      const { call } = await startTestServer(t);
      const policy = 'path "a" { capabilities = ["read"] }';
      const answer = await call('POST', path, { policy, [field]: refused });
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, new RegExp(`${field} is not supported`));
      assert.equal((await call('GET', path)).status, 404);
      const written = await call('POST', path, { policy, [field]: harmless });
      assert.ok(written.status < 300, written.text);
      assert.equal((await call('GET', path)).status, 200);
    });
  }
}
