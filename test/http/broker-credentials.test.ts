import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { type Reply, startTestServer } from '../support/server.ts';

// The development server's root token may do everything on this API too.
const { call, running } = await startTestServer({ after });

const post = (path: string, body: object): Promise<Reply> => call('POST', path, body);
const patch = (path: string, body: object): Promise<Reply> => call('PATCH', path, body);

async function made(path: string, body: object): Promise<string> {
  const answer = await post(path, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('id');
}

async function makeProject(): Promise<string> {
  const org = await made('scopes', { scope_id: 'global' });
  return made('scopes', { scope_id: org });
}

const project = await makeProject();
const store = await made('credential-stores', { scope_id: project, type: 'static', name: 'cs' });

/** The texts of a refusal by field. */
function faults(answer: Reply): Record<string, string> {
  const fields = answer.field('details.request_fields');
  assert.ok(Array.isArray(fields), answer.text);
  return Object.fromEntries(
    fields.map((one: { name: string; description: string }) => [one.name, one.description]),
  );
}

const HMAC = /^[\w-]{43}$/;
const pem = generateKeyPairSync('ed25519')
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const locked = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'open' })
  .toString();

test('a static store shows what its items can be asked for, and no attributes', async () => {
  const answer = await call('GET', `credential-stores/${store}`);
  assert.equal(answer.status, 200);
  assert.match(store, /^csst_[A-Za-z0-9]{10}$/);
  assert.equal(answer.textAt('type'), 'static');
  assert.equal(answer.field('attributes'), undefined);
  assert.deepEqual(answer.field('authorized_collection_actions'), {
    credentials: ['create', 'list'],
  });
});

test('a store of an unknown type, or outside of a project, is refused by field', async () => {
  const unknown = await post('credential-stores', { scope_id: 'global', type: 'keychain' });
  assert.equal(unknown.status, 400);
  assert.deepEqual(faults(unknown), {
    scope_id: 'This field must be a valid project scope id.',
    type: 'This is a required field and must be a known credential store type.',
  });
});

const kinds: [type: string, prefix: string, attributes: object, shown: Record<string, unknown>][] =
  [
    [
      'username_password',
      'credup',
      { username: 'u', password: 'hidden' },
      { username: 'u', password_hmac: HMAC },
    ],
    [
      'username_password_domain',
      'credupd',
      { username: 'u', password: 'hidden', domain: 'd' },
      { username: 'u', domain: 'd', password_hmac: HMAC },
    ],
    ['password', 'credp', { password: 'hidden' }, { password_hmac: HMAC }],
    [
      'ssh_private_key',
      'credspk',
      { username: 'u', private_key: pem },
      { username: 'u', private_key_hmac: HMAC },
    ],
    [
      'ssh_private_key',
      'credspk',
      { username: 'u', private_key: locked, private_key_passphrase: 'open' },
      { username: 'u', private_key_hmac: HMAC, private_key_passphrase_hmac: HMAC },
    ],
    ['json', 'credjson', { object: { a: { secret: 'hidden' } } }, { object_hmac: HMAC }],
  ];

for (const [type, prefix, attributes, shown] of kinds) {
  test(`a credential ${type} shows ${Object.keys(shown).join(', ')} and no secret`, async () => {
    const answer = await post('credentials', { credential_store_id: store, type, attributes });
    assert.equal(answer.status, 200, answer.text);
    const id = answer.textAt('id');
    assert.match(id, new RegExp(`^${prefix}_[A-Za-z0-9]{10}$`));
    assert.equal(answer.textAt('credential_store_id'), store);
    assert.equal(answer.textAt('type'), type);
    const found = answer.field('attributes') as Record<string, string>;
    assert.deepEqual(Object.keys(found).sort(), Object.keys(shown).sort());
    for (const [field, value] of Object.entries(shown)) {
      if (value instanceof RegExp) assert.match(found[field] ?? '', value);
      else assert.equal(found[field], value);
    }
    const read = await call('GET', `credentials/${id}`);
    assert.deepEqual(read.field('attributes'), found);
    assert.doesNotMatch(answer.text + read.text, /hidden|PRIVATE KEY/);
  });
}

test('secrets lie sealed in the database', async () => {
  const rows = await running.app.store.db
    .selectFrom('resource')
    .selectAll()
    .where('type', '=', 'credential')
    .execute();
  assert.ok(rows.length >= kinds.length);
  for (const row of rows) {
    assert.ok(row.secret_sealed);
    const stored = row.body + Buffer.from(row.secret_sealed).toString('latin1');
    assert.doesNotMatch(stored, /hidden|PRIVATE KEY/);
  }
});

test('one value has one hash in a store, whatever credential it is in, and another elsewhere', async () => {
  const hashed = async (credential_store_id: string, password: string): Promise<string> => {
    const body = { credential_store_id, type: 'password', attributes: { password } };
    return (await post('credentials', body)).textAt('attributes.password_hmac');
  };
  const other = await made('credential-stores', { scope_id: project, type: 'static' });
  const first = await hashed(store, 'same');
  assert.equal(await hashed(store, 'same'), first);
  assert.notEqual(await hashed(store, 'other'), first);
  assert.notEqual(await hashed(other, 'same'), first);
});

const refusals: [type: string, attributes: object, expected: Record<string, string>][] = [
  [
    'username_password',
    {},
    {
      'attributes.username': 'Field required for creating a username-password credential.',
      'attributes.password': 'Field required for creating a username-password credential.',
    },
  ],
  [
    'username_password_domain',
    { username: 'u', password: 'p' },
    { 'attributes.domain': 'Field required for creating a username-password-domain credential.' },
  ],
  ['password', {}, { 'attributes.password': 'Field required for creating a password credential.' }],
  [
    'ssh_private_key',
    {},
    {
      'attributes.username': 'Field required for creating an SSH private key credential.',
      'attributes.private_key': 'Field required for creating an SSH private key credential.',
    },
  ],
  [
    'ssh_private_key',
    { username: 'u', private_key: 'junk' },
    {
      'attributes.private_key': 'Unable to parse given private key value: ssh: no key found.',
    },
  ],
  [
    'ssh_private_key',
    { username: 'u', private_key: pem, private_key_passphrase: 'x' },
    { 'attributes.private_key_passphrase': 'Passphrase supplied for unencrypted key.' },
  ],
  [
    'ssh_private_key',
    { username: 'u', private_key: locked, private_key_passphrase: 'x' },
    { 'attributes.private_key_passphrase': 'Incorrect private key passphrase.' },
  ],
  [
    'json',
    { object: {} },
    { 'attributes.object': 'Field required for creating a json credential.' },
  ],
  [
    'password',
    { password: 'p', user: 'u' },
    { attributes: 'Attribute fields do not match the expected format.' },
  ],
  ['token', { a: 1 }, { type: 'Unsupported credential type "token"' }],
];

for (const [type, attributes, expected] of refusals) {
  test(`a credential ${type} of ${Object.keys(attributes).join(', ') || 'nothing'} is refused`, async () => {
    const answer = await post('credentials', { credential_store_id: store, type, attributes });
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(faults(answer), expected);
  });
}

test('credentials lie in stores of type static only, and libraries in none of them', async () => {
  const attributes = { password: 'p' };
  const strange = { credential_store_id: 'csvlt_1234567890', type: 'password', attributes };
  const expected = { credential_store_id: 'This field must be a valid credential store id.' };
  assert.deepEqual(faults(await post('credentials', strange)), expected);
  const list = await call('GET', `credential-libraries?credential_store_id=${store}`);
  assert.equal(list.status, 400);
  assert.deepEqual(faults(list), expected);
  const library = await post('credential-libraries', {
    credential_store_id: store,
    attributes: { path: 'a' },
  });
  assert.equal(library.status, 400);
  assert.equal(faults(library).credential_store_id, expected.credential_store_id);
  const absent = { ...strange, credential_store_id: 'csst_0000000000' };
  assert.equal((await post('credentials', absent)).status, 404);
});

test('a change speaks of what it names: a new secret has a new hash, the rest stays', async () => {
  const id = await made('credentials', {
    credential_store_id: store,
    type: 'username_password',
    attributes: { username: 'u', password: 'p' },
  });
  const hash = (answer: Reply): string => answer.textAt('attributes.password_hmac');
  const before = hash(await call('GET', `credentials/${id}`));
  const renamed = await patch(`credentials/${id}`, { version: 1, attributes: { username: 'v' } });
  assert.equal(renamed.status, 200, renamed.text);
  assert.equal(renamed.textAt('attributes.username'), 'v');
  assert.equal(hash(renamed), before);
  const changed = await patch(`credentials/${id}`, { version: 2, attributes: { password: 'q' } });
  assert.equal(changed.field('version'), 3);
  assert.notEqual(hash(changed), before);
  assert.equal(changed.textAt('attributes.username'), 'v');
  const cleared = await patch(`credentials/${id}`, { version: 3, attributes: { password: null } });
  assert.equal(cleared.status, 400);
  assert.match(faults(cleared)['attributes.password'] ?? '', /cannot be set to empty/);
  const stale = await patch(`credentials/${id}`, { version: 1, attributes: { password: 'r' } });
  assert.equal(stale.status, 404);
  assert.match(stale.textAt('message'), /doesn't exist or incorrect version provided/);
});

test('a new private key in the clear drops the passphrase of the one before', async () => {
  const id = await made('credentials', {
    credential_store_id: store,
    type: 'ssh_private_key',
    attributes: { username: 'u', private_key: locked, private_key_passphrase: 'open' },
  });
  const wrong = await patch(`credentials/${id}`, {
    version: 1,
    attributes: { private_key_passphrase: 'shut' },
  });
  assert.equal(wrong.status, 400, wrong.text);
  const changed = await patch(`credentials/${id}`, {
    version: 1,
    attributes: { private_key: pem },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.field('attributes.private_key_passphrase_hmac'), undefined);
});

test('an object is replaced whole', async () => {
  const object = { a: 1, b: { c: 'd' } };
  const credential = { credential_store_id: store, type: 'json', attributes: { object } };
  const id = await made('credentials', credential);
  const before = (await call('GET', `credentials/${id}`)).textAt('attributes.object_hmac');
  const changed = await patch(`credentials/${id}`, {
    version: 1,
    attributes: { object: { a: 1 } },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.notEqual(changed.textAt('attributes.object_hmac'), before);
  const again = await patch(`credentials/${id}`, {
    version: 2,
    attributes: { object: { b: { c: 'd' }, a: 1 } },
  });
  assert.equal(again.textAt('attributes.object_hmac'), before, 'whatever the order of its names');
});

test('a store goes with everything in it', async () => {
  const gone = await made('credential-stores', { scope_id: project, type: 'static' });
  const attributes = { password: 'p' };
  const id = await made('credentials', { credential_store_id: gone, type: 'password', attributes });
  assert.equal((await call('DELETE', `credential-stores/${gone}`)).status, 204);
  assert.equal((await call('GET', `credentials/${id}`)).status, 404);
  assert.equal((await call('GET', `credential-stores/${gone}`)).status, 404);
});
