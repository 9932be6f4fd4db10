import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { makeProject } from '../support/broker.ts';
import { startTestServer } from '../support/server.ts';

const valuesOf = (items: unknown): string[] =>
  Array.isArray(items) ? items.map((item: { value: string }) => item.value).sort() : [];

/** Two projects, each with a target of three aliases, and an alias that leads nowhere. */
async function setUp(t: TestContext) {
  const server = await startTestServer(t);
  const project = await makeProject(server);
  const { admin } = project;
  const make = async (path: string, body: unknown): Promise<string> => {
    const reply = await admin.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.textAt('id');
  };
  const other = await make('scopes', { scope_id: project.org_id, name: 'other' });
  const addTarget = (scope_id: string, name: string): Promise<string> =>
    make('targets', {
      scope_id,
      name,
      type: 'tcp',
      address: '127.0.0.1',
      attributes: { default_port: 22 },
      with_aliases: ['a', 'b', 'c'].map((word) => ({
        value: `${word}.${name}`,
        scope_id: 'global',
      })),
    });
  const here = await addTarget(project.id, 'here');
  const there = await addTarget(other, 'there');
  await make('aliases', { scope_id: 'global', type: 'target', value: 'nowhere.test' });
  return { server, project, admin, here, there, other };
}

const LISTED = (user_id: string, query = '') =>
  `users/${user_id}:list-resolvable-aliases?recursive=true&scope_id=global${query}`;

test('resolvable aliases are those that lead the user to targets on which they may do something', async (t) => {
  const { project, admin, here } = await setUp(t);
  const filter = encodeURIComponent('"/item/name" == "Authenticated User Grants"');
  const everybody = await admin.call('GET', `roles?scope_id=global&filter=${filter}`);
  const role = everybody.textAt('items.0.id');
  assert.equal((await admin.call('DELETE', `roles/${role}`)).status, 204);
  const own = 'ids={{.User.Id}};type=user;actions=list-resolvable-aliases';
  const rows: [name: string, grants: string[], values: string[]][] = [
    ['nobody', [own], []],
    ['lister', [own, 'type=target;actions=list'], []],
    ['reader', [own, `ids=${here};actions=read`], ['a.here', 'b.here', 'c.here']],
    [
      'everybody',
      [own, 'ids=*;type=target;actions=authorize-session'],
      ['a.here', 'a.there', 'b.here', 'b.there', 'c.here', 'c.there'],
    ],
  ];
  for (const [name, grants, values] of rows) {
    const person = await project.addPerson(name, grants);
    const reply = await person.call('GET', LISTED(person.user_id));
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(valuesOf(reply.field('items')), values, name);
    assert.equal(reply.field('response_type'), 'complete');
    const asAdmin = await admin.call('GET', LISTED(person.user_id));
    assert.deepEqual(asAdmin.field('items'), reply.field('items'), `${name}, asked by another`);
    const other = await person.call('GET', LISTED(admin.user_id));
    assert.equal(other.status, 403, 'those of another user are not for them to see');
  }
});

test('a resolvable alias shows what it takes to find the target, and no more', async (t) => {
  const { admin, here } = await setUp(t);
  const reply = await admin.call('GET', LISTED(admin.user_id));
  const items = reply.field('items');
  assert.ok(Array.isArray(items));
  const found = items.find((item: { value: string }) => item.value === 'a.here');
  assert.deepEqual(Object.keys(found), [
    'id',
    'created_time',
    'updated_time',
    'value',
    'destination_id',
    'type',
  ]);
  assert.equal(found.destination_id, here);
  assert.equal(found.type, 'target');
});

test('resolvable aliases come in pages, and then what is new and what is gone', async (t) => {
  const { admin, here } = await setUp(t);
  const seen: string[] = [];
  let list_token = '';
  for (const type of ['delta', 'delta', 'complete']) {
    const reply = await admin.call(
      'GET',
      LISTED(admin.user_id, `&page_size=2&list_token=${list_token}`),
    );
    assert.equal(reply.field('response_type'), type, reply.text);
    seen.push(...valuesOf(reply.field('items')));
    list_token = reply.textAt('list_token');
  }
  assert.equal(new Set(seen).size, 6);
  const made = await admin.call('POST', 'aliases', {
    scope_id: 'global',
    type: 'target',
    value: 'new.here',
    destination_id: here,
  });
  const all = await admin.call('GET', 'aliases?scope_id=global');
  const items = all.field('items');
  assert.ok(Array.isArray(items));
  const gone = items.find((item: { value: string }) => item.value === 'b.there').id;
  assert.equal((await admin.call('DELETE', `aliases/${gone}`)).status, 204);
  const news = await admin.call('GET', LISTED(admin.user_id, `&list_token=${list_token}`));
  assert.equal(news.field('sort_by'), 'updated_time');
  assert.ok(valuesOf(news.field('items')).includes('new.here'), made.text);
  assert.deepEqual(news.field('removed_ids'), [gone]);
  const elsewhere = await admin.call('GET', `aliases?scope_id=global&list_token=${list_token}`);
  assert.equal(elsewhere.status, 400, 'the token is for this list alone');
  assert.equal(elsewhere.field('kind'), 'invalid list token');
});

test('the list token of resolvable aliases ends with the grants it was given under', async (t) => {
  const { project, admin } = await setUp(t);
  const person = await project.addPerson('reader', [
    'ids=*;type=target;actions=read',
    'ids={{.User.Id}};type=user;actions=list-resolvable-aliases',
  ]);
  const first = await person.call('GET', LISTED(person.user_id));
  const token = first.textAt('list_token');
  const role = await admin.call('POST', 'roles', { scope_id: project.id, name: 'more' });
  const id = role.textAt('id');
  const grants = await admin.call('POST', `roles/${id}:add-grants`, {
    version: 1,
    grant_strings: ['ids=*;type=target;actions=update'],
  });
  assert.equal(grants.status, 200, grants.text);
  const added = await admin.call('POST', `roles/${id}:add-principals`, {
    version: 2,
    principal_ids: [person.user_id],
  });
  assert.equal(added.status, 200, added.text);
  const late = await person.call('GET', LISTED(person.user_id, `&list_token=${token}`));
  assert.equal(late.status, 400);
  assert.equal(late.field('kind'), 'invalid list token');
});

test('whoever repairs has no aliases of their own, and an unknown user none at all', async (t) => {
  const server = await startTestServer(t, { config: { seed: SEED_DEFAULTS } });
  const rows = [
    ['u_recovery', 400],
    ['u_zzzzzzzzzz', 404],
    ['g_1234567890', 400],
    ['u_1234567890', 200],
    ['u_0987654321', 200],
  ] as const;
  for (const [id, status] of rows) {
    const reply = await server.call('GET', LISTED(id));
    assert.equal(reply.status, status, `${id}: ${reply.text}`);
  }
  assert.equal(
    (await server.call('GET', LISTED('u_1234567890'), undefined, { token: '' })).status,
    401,
  );
});

test('a target that is deleted leads nobody to it any more', async (t) => {
  const { admin, here } = await setUp(t);
  assert.equal((await admin.call('DELETE', `targets/${here}`)).status, 204);
  const reply = await admin.call('GET', LISTED(admin.user_id));
  assert.deepEqual(valuesOf(reply.field('items')), ['a.there', 'b.there', 'c.there']);
});
