import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { after, test } from 'node:test';
import type { AnyBoundaryRoute } from '../../src/broker/resource/route.ts';
import { RESOURCE_TYPES, typeOfPlural } from '../../src/broker/resource/types.ts';
import { brokerRoutes } from '../../src/broker/routes.ts';
import { startBroker } from '../support/seeded-broker.ts';

const broker = await startBroker({ after });
const { admin, nobody, client, project } = broker;

const NO_JSON = Buffer.from('{"a":');

const withBody = brokerRoutes.filter(
  ({ method, access }) => access !== 'public' && (method === 'POST' || method === 'PATCH'),
);

/** A path to something of the type that is not there. */
function pathOf({ path }: AnyBoundaryRoute): string {
  const plural = /^\/v1\/([a-z-]+)/.exec(path)?.[1] ?? '';
  const type = typeOfPlural(plural);
  const [prefix] = type ? Object.keys(RESOURCE_TYPES[type].prefixes) : [];
  return path.slice('/v1/'.length).replace('{id}', `${prefix}_0000000000`);
}

for (const route of withBody) {
  test(`${route.method} ${route.path}: the body of who may not call it is not looked at`, async () => {
    const isLogIn = route.path.endsWith(':authenticate');
    const told = await admin(route.method, pathOf(route), NO_JSON);
    assert.match(told.text, /JSON/, 'whoever may hears what is wrong with it');
    const refused = await nobody(route.method, pathOf(route), NO_JSON);
    if (isLogIn) {
      assert.match(refused.text, /JSON/, 'everybody may log in');
      return;
    }
    assert.match(String(refused.status), /^40[14]$/, refused.text);
    assert.doesNotMatch(refused.text, /JSON/);
  });
}

test('who has grants on one type has the bodies of no other looked at', async () => {
  const grants = ['ids=*;type=host-catalog;actions=create', 'ids=*;type=target;actions=read'];
  const person = await broker.person(grants);
  const cases: [method: string, path: string, status: number][] = [
    ['POST', 'host-catalogs', 400],
    ['POST', 'targets', 403],
    ['POST', 'credential-libraries', 403],
    ['PATCH', 'targets/ttcp_1234567890', 403],
    ['POST', 'targets/ttcp_1234567890:add-host-sources', 403],
  ];
  for (const [method, path, status] of cases) {
    const answer = await person.call(method, path, NO_JSON);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  }
});

test('where the thing itself is not the own the fields are not looked at', async () => {
  const person = await broker.person(['ids=*;type=target;actions=create'], {
    grant_scope_ids: ['this'],
  });
  const wrong = { scope_id: project, type: 'tcp', attributes: { default_port: 'x' } };
  assert.equal((await person.call('POST', 'targets', wrong)).status, 403);
  assert.equal((await admin('POST', 'targets', wrong)).status, 400);
});

test('a list of who may not list is refused before its filter and its token are read', async () => {
  const query = 'filter=%22&list_token=x';
  for (const [call, place, status] of [
    [nobody, `targets?scope_id=${project}`, 401],
    [nobody, 'workers?scope_id=global', 401],
    [nobody, 'targets?scope_id=x', 400],
    [admin, `targets?scope_id=${project}`, 400],
  ] as const) {
    const answer = await call('GET', `${place}&${query}`);
    assert.equal(answer.status, status, `${place}: ${answer.text}`);
    assert.equal(answer.text.includes('filter'), call === admin);
  }
});

/** The status of a request of which the announced body does not come. */
async function statusWithoutBody(path: string, length: number): Promise<number | undefined> {
  const headers = { 'content-length': String(length) };
  const sent = request(`${client.url}/v1/${path}`, { method: 'POST', headers });
  sent.flushHeaders();
  const [response] = await once(sent, 'response');
  sent.on('error', () => {});
  sent.destroy();
  return response.statusCode;
}

test('nobody in particular is answered without waiting for a body', async () => {
  assert.equal(await statusWithoutBody('targets', 1000), 401);
  assert.equal(
    await statusWithoutBody('scopes:rotate-keys', 1000),
    405,
    'nor where there is nothing',
  );
});

test('a log-in has at most 64 KiB', async () => {
  const path = `auth-methods/${broker.auth_method}:authenticate`;
  assert.equal(await statusWithoutBody(path, 64 * 1024 + 1), 413);
  const attributes = { login_name: 'x'.repeat(60_000), password: 'x' };
  assert.match(String((await nobody('POST', path, { attributes })).status), /^40[01]$/);
  const longer = { attributes: { ...attributes, password: 'x'.repeat(6_000) } };
  assert.equal((await admin('POST', path, longer)).status, 413, 'whoever sends it');
});
