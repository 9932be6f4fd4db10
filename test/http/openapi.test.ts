import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type Client, startTestServer } from '../support/server.ts';

const SPEC = 'sys/internal/specs/openapi';

async function listPaths(client: Client, token: string, query = ''): Promise<string[]> {
  const reply = await client.call('GET', `${SPEC}${query}`, undefined, { token });
  assert.equal(reply.status, 200, reply.text);
  return Object.keys(reply.field('paths') as object);
}

test('root sees every engine at each of its mounts', async (t) => {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/mounts/team/ca', { type: 'pki' });
  const paths = await listPaths(client, 'root');
  for (const path of [
    '/demo/issue/{role}',
    '/team/ca/issue/{role}',
    '/demo/roles/',
    '/sys/mounts/{path}',
    '/auth/token/lookup-self',
  ]) {
    assert.ok(paths.includes(path), path);
  }
  const generic = await listPaths(client, 'root', '?generic_mount_paths=true');
  assert.ok(generic.includes('/{pki_mount_path}/issue/{role}'));
  assert.ok(!generic.includes('/demo/issue/{role}'));

  const document = await client.call('GET', SPEC);
  const ids = Object.values(document.field('paths') as object).flatMap((item: object) =>
    Object.values(item).flatMap((one: unknown) => {
      const id = typeof one === 'object' && one !== null ? Reflect.get(one, 'operationId') : '';
      return typeof id === 'string' && id !== '' ? [id] : [];
    }),
  );
  assert.equal(new Set(ids).size, ids.length);
});

test('a token sees what it might be permitted, and nothing beside it', async (t) => {
  const client = await startTestServer(t);
  await client.call('PUT', 'sys/policies/acl/issuer', {
    policy: 'path "demo/issue/web" { capabilities = ["update"] }',
  });
  const made = await client.call('POST', 'auth/token/create', { policies: ['issuer'] });
  const paths = await listPaths(client, made.textAt('auth.client_token'));
  assert.ok(paths.includes('/demo/issue/{role}'));
  assert.ok(paths.includes('/auth/token/lookup-self'), 'the default policy allows it');
  assert.ok(!paths.includes('/demo/sign/{role}'));
  assert.ok(!paths.includes('/demo/roles/{name}'));
  assert.ok(!paths.includes('/sys/mounts/{path}'));
  assert.ok(!paths.includes('/auth/token/create'));
});

test('without a token no mount is shown but one that is listed to everybody', async (t) => {
  const client = await startTestServer(t);
  const before = await listPaths(client, '');
  assert.ok(before.includes('/sys/health'));
  assert.ok(!before.includes('/sys/mounts'));
  assert.ok(!before.some((path) => path.startsWith('/demo/')));
  await client.call('POST', 'sys/mounts/demo/tune', { listing_visibility: 'unauth' });
  const after = await listPaths(client, '');
  assert.ok(after.includes('/demo/ca'));
  assert.ok(!after.includes('/demo/issue/{role}'));
});

test('whoever is known reads of the broker, whose operations have names of their own', async (t) => {
  const client = await startTestServer(t);
  const document = await client.call('GET', SPEC);
  const paths = document.field('paths') as Record<string, Record<string, unknown>>;
  const target = paths['/targets/{id}'];
  assert.deepEqual(Object.keys(target ?? {}).sort(), [
    'delete',
    'description',
    'get',
    'parameters',
    'patch',
  ]);
  const text = JSON.stringify(target);
  assert.match(text, /"operationId":"update-target"/);
  assert.match(text, /"requestBody":\{"required":true,"content":\{"application\/json"/);
  assert.match(text, /"name":"update_mask","in":"query"/);
  assert.match(JSON.stringify(target?.delete), /"204"/);
  assert.ok(paths['/targets/{id}:authorize-session']);
  assert.ok(!(await listPaths(client, '')).includes('/targets/{id}'));
});

test('a public validator finds nothing in what is answered, to whomever', async (t) => {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/mounts/team/ca', { type: 'pki' });
  for (const [query, token] of [
    ['', 'root'],
    ['?generic_mount_paths=true', 'root'],
    ['', ''],
  ] as const) {
    const { text } = await client.call('GET', SPEC + query, undefined, { token });
    const verdict = await new Validator().validate(JSON.parse(text));
    assert.deepEqual(verdict, { valid: true }, query);
    requireWhole(JSON.parse(text));
  }
  const help = await client.call('GET', 'demo/roles/web?help=1');
  assert.deepEqual(await new Validator().validate(Object(help.field('openapi'))), { valid: true });
  requireWhole(help.field('openapi'));
});

/** Whatever is referred to is there, and whatever is there is referred to. */
function requireWhole(document: unknown): void {
  const referred = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+\/\w+)"/g)];
  const { components = {} } = document as { components?: Record<string, object> };
  const there = Object.entries(components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `${kind}/${name}`),
  );
  assert.deepEqual([...new Set(referred.map(([, name]) => name))].sort(), there.sort());
}
