import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

// A name in any case is one name, letter by letter: a sigma at its end folds as any other does. The
// small letter that is written there is a letter of its own, and a name with it another name.

const client = await startTestServer({ after });
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
for (const [path, type] of [
  ['auth/up', 'userpass'],
  ['auth/ar', 'approle'],
]) {
  assert.ok((await root('POST', `sys/${path}`, { type })).status < 300);
}

const SAME = ['ΟΔΟΣ', 'οδοσ', 'Οδοσ', 'ΟΔΟσ'];
const OTHER = 'οδος';

const PLACES: [where: string, body: object][] = [
  ['sys/policies/acl', { policy: 'path "x" { capabilities = ["read"] }' }],
  ['identity/entity/name', {}],
  ['identity/group/name', {}],
];
for (const [where, body] of PLACES) {
  test(`${where}: a name that ends in a sigma is one name in every case`, async () => {
    for (const written of SAME) {
      const path = `${where}/${encodeURIComponent(written)}`;
      const made = await root('POST', path, body);
      assert.ok(made.status < 300, made.text);
      for (const asked of SAME) {
        const answer = await root('GET', `${where}/${encodeURIComponent(asked)}`);
        assert.equal(answer.status, 200, `${written} written, ${asked} asked`);
      }
      const other = await root('GET', `${where}/${encodeURIComponent(OTHER)}`);
      assert.equal(other.status, 404, written);
      assert.ok((await root('DELETE', path)).status < 300);
      for (const asked of SAME) {
        const gone = await root('GET', `${where}/${encodeURIComponent(asked)}`);
        assert.equal(gone.status, 404, asked);
      }
    }
  });
}

for (const where of ['auth/up/users', 'auth/ar/role']) {
  test(`${where}: names are of ASCII`, async () => {
    for (const written of [...SAME, OTHER]) {
      const path = `${where}/${encodeURIComponent(written)}`;
      assert.equal((await root('POST', path, { password: 'x' })).status, 404);
    }
  });
}

test('a policy that was named by the letter of the end stays what it is, for whoever has it', async () => {
  const policy = 'path "cubbyhole/x" { capabilities = ["deny"] }';
  assert.ok(
    (await root('POST', `sys/policies/acl/${encodeURIComponent(OTHER)}`, { policy })).status < 300,
  );
  const made = await root('POST', 'auth/token/create', { policies: [OTHER, 'default'] });
  const token = made.textAt('auth.client_token');
  assert.deepEqual(made.field('auth.policies'), ['default', OTHER]);
  assert.equal((await client.call('POST', 'cubbyhole/x', { a: '1' }, { token })).status, 403);
  assert.ok((await client.call('POST', 'cubbyhole/y', { a: '1' }, { token })).status < 300);
});
