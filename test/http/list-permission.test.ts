import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { authEngines, secretEngines, systemRoutes } from '../../src/start/routes.ts';
import { type Reply, startTestServer } from '../support/server.ts';

// A list is a list however it is asked for: `list` permits it, and rules bound its pages and fields.

const client = await startTestServer({ after });
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);

await ok(root('POST', 'sys/mounts/pki', { type: 'pki' }));
await ok(root('POST', 'pki/root/generate/internal', { common_name: 'Root', key_type: 'ec' }));

let tokens = 0;
async function tokenOf(policy: string): Promise<string> {
  const name = `lists-${tokens++}`;
  await ok(root('POST', `sys/policies/acl/${name}`, { policy }));
  const made = await ok(root('POST', 'auth/token/create', { policies: [name], ttl: '1h' }));
  return made.textAt('auth.client_token');
}

const rules: [rule: string, asked: string, status: number][] = [
  ['capabilities = ["read"]', 'GET pki/certs/search', 403],
  ['capabilities = ["read"]', 'LIST pki/certs/search', 403],
  ['capabilities = ["list"]', 'GET pki/certs/search', 200],
  ['capabilities = ["list"]', 'LIST pki/certs/search', 200],
  ['capabilities = ["read", "list"]\npagination_limit = 1', 'GET pki/certs/search', 403],
  ['capabilities = ["read", "list"]\npagination_limit = 1', 'GET pki/certs/search?limit=2', 403],
  ['capabilities = ["read", "list"]\npagination_limit = 1', 'GET pki/certs/search?limit=1', 200],
  ['capabilities = ["list"]\npagination_limit = 1', 'LIST pki/certs?limit=1', 200],
  ['capabilities = ["list"]\npagination_limit = 1', 'LIST pki/certs', 403],
  ['capabilities = ["list"]\npagination_limit = 1', 'LIST pki/keys?limit=1', 200],
  ['capabilities = ["list"]\npagination_limit = 1', 'LIST pki/keys', 403],
  ['capabilities = ["list"]', 'LIST pki/keys?limit=1', 200],
  ['capabilities = ["list"]\ndenied_parameters = { "name" = [] }', 'LIST pki/certs/search?name=Root', 403],
  ['capabilities = ["list"]\ndenied_parameters = { "name" = [] }', 'GET pki/certs/search?name=Root', 403],
  ['capabilities = ["list"]\ndenied_parameters = { "name" = [] }', 'GET pki/certs/search?limit=5', 200],
  ['capabilities = ["list"]\nrequired_parameters = ["common_name"]', 'LIST pki/keys', 200],
]; // biome-ignore format: one rule a line

for (const [rule, asked, status] of rules) {
  test(`${asked} under "${rule.replace('\n', ' ')}" is ${status}`, async () => {
    const token = await tokenOf(`path "pki/*" { ${rule} }`);
    const [method = '', path = ''] = asked.split(' ');
    const answer = await client.call(method, path, undefined, { token });
    assert.equal(answer.status, status, answer.text);
  });
}

test('lists that have no pages are refused to whoever may see a page alone, whatever they send', async () => {
  const token = await tokenOf(
    'path "*" { capabilities = ["read", "list", "sudo"]\npagination_limit = 1 }',
  );
  for (const path of ['sys/policies/acl', 'identity/entity/id', 'auth/token/accessors']) {
    const answer = await client.call('LIST', `${path}?limit=1`, undefined, { token });
    assert.equal(answer.status, 403, path);
  }
});

test('whatever answers to LIST asks for list, by GET on the same path too', () => {
  const routes = [
    ...systemRoutes,
    ...Object.values(secretEngines).flat(),
    ...Object.values(authEngines).flat(),
  ];
  const lists = routes.filter(({ method }) => method === 'LIST');
  assert.ok(lists.length > 20, String(lists.length));
  let twins = 0;
  for (const list of lists) {
    // A GET that does the same is the list by another name.
    const same = routes.filter(
      ({ path, summary }) => path === list.path && summary === list.summary,
    );
    twins += same.length - 1;
    for (const { id, access } of same) {
      if (access !== 'public') assert.equal(access.capability, 'list', id);
    }
  }
  assert.ok(twins > 0);
});
