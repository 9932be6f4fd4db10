import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const ALL = 'path "demo/*" { capabilities = ["read", "list", "create", "update", "delete"] }';
const cases: [stanza: string, denied: boolean, why: string][] = [
  ['path "demo/roles/secret/" { capabilities = ["deny"] }', true, 'exact'],
  ['path "demo/roles/+/" { capabilities = ["deny"] }', true, 'any segment'],
  ['path "demo/+/secret/" { capabilities = ["deny"] }', true, 'any segment before it'],
  ['path "demo/roles/secret/" { capabilities = [] }', true, 'grants nothing'],
  [
    'path "demo/roles/secret/" {\n capabilities = ["update"]\n denied_parameters = { ttl = [] }\n}',
    true,
    'a condition',
  ],
  ['path "demo/roles/other/" { capabilities = ["deny"] }', false, 'another path'],
  ['path "demo/roles/secret/x/" { capabilities = ["deny"] }', false, 'beneath it'],
  ['path "demo/roles/" { capabilities = ["deny"] }', false, 'the list'],
  [
    'path "demo/roles/+/" { capabilities = ["deny"] }\npath "demo/roles/secret" { capabilities = ["read", "update"] }',
    false,
    'a rule of higher rank',
  ],
  ['path "demo/roles/secret/" { capabilities = ["list"] }', false, 'takes nothing away'],
  [
    'path "demo/roles/secret/" {\n capabilities = ["list"]\n pagination_limit = 5\n}',
    false,
    'about lists alone',
  ],
];

test('what a stanza takes away at a path with a slash it takes away without', async (t) => {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/mounts/demo', { type: 'pki' });
  await client.call('POST', 'demo/roles/secret', { ttl: '1h' });
  for (const [at, [stanza, denied, why]] of cases.entries()) {
    const policy = `${ALL}\n${stanza}`;
    const written = await client.call('PUT', `sys/policies/acl/p${at}`, { policy });
    assert.equal(written.status, 204, `${why}: ${written.text}`);
    const made = await client.call('POST', 'auth/token/create', { policies: [`p${at}`] });
    const token = made.textAt('auth.client_token');
    for (const path of ['demo/roles/secret', 'demo/roles/secret/']) {
      const write = await client.call('POST', path, { ttl: '2h' }, { token });
      assert.equal(write.status === 403, denied, `${why}: ${path} ${write.status}`);
    }
    const read = await client.call('GET', 'demo/roles/secret', undefined, { token });
    assert.equal(read.status === 403, denied, `${why}: ${read.status}`);
    const self = { paths: ['demo/roles/secret'] };
    const shown = await client.call('POST', 'sys/capabilities-self', self, { token });
    assert.equal(shown.text.includes('"read"'), !denied, `${why}: ${shown.text}`);
  }
});

const patterns: [pattern: string, doubted: boolean][] = [
  [' demo/a', true],
  ['demo/a ', true],
  ['demo//a', true],
  ['demo/./a', true],
  ['demo/../a', true],
  ['v1/demo/a', true],
  ['demo/%72', true],
  ['demo/a?x=1', true],
  ['demo/a#x', true],
  ['demo/s*t', true],
  ['demo/*/a', true],
  ['demo/a', false],
  ['/demo/a', false],
  ['demo/a/', false],
  ['demo/a*', false],
  ['demo/+/a*', false],
  ['demo/a.b/..c', false],
  ['demo/100%', false],
  ['v1', false],
  ['*', false],
  ['demo/{{identity.entity.id}}/a', false],
];

test('a path that nothing can match is stored with a warning', async (t) => {
  const client = await startTestServer(t);
  for (const [pattern, doubted] of patterns) {
    const policy = `path "${pattern}" { capabilities = ["deny"] }`;
    const { status, text } = await client.call('PUT', 'sys/policies/acl/p', { policy });
    assert.equal(status, doubted ? 200 : 204, `${pattern}: ${text}`);
    assert.equal(text.includes('may match nothing'), doubted, pattern);
  }
});
