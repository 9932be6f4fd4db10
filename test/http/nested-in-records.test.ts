// An object with a secret in it, in the place of whatever any endpoint takes, on both APIs.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import type { BoundaryRoute } from '../../src/http/boundary-route.ts';
import type { AnyRoute } from '../../src/http/route.ts';
import { declaredRoutes } from '../../src/routes.ts';
import { startBroker } from '../support/seeded-broker.ts';

const CANARY = 'nested-canary-4711';
const nested = { password: CANARY };
/** These take texts by names of any kind: what they hold is recorded, and an object within is not. */
const TEXTS_BY_NAME = [
  ...['critical_options', 'extensions', 'api_tags'],
  ...['metadata', 'custom_metadata', 'meta', 'options'],
];
const valuesFor = (name: string): unknown[] =>
  TEXTS_BY_NAME.includes(name)
    ? [{ a: nested }, { a: [nested] }, [[CANARY]]]
    : [nested, [nested], [[CANARY]]];

const broker = await startBroker({ after });
const { client, make, person, project, org, auth_method } = broker;
const { call, running } = client;

const { account_id, user_id, role_id } = await person(['ids=*;type=target;actions=read']);
const catalog = await make('host-catalogs', { scope_id: project, type: 'static' });
const store = await make('credential-stores', { scope_id: project, type: 'static' });
const secret = { username: 'ann', password: 'a password' };
const IDS: Readonly<Record<string, string>> = {
  scope: org,
  'auth-method': auth_method,
  account: account_id,
  user: user_id,
  role: role_id,
  group: await make('groups', { scope_id: org }),
  'host-catalog': catalog,
  host: await make('hosts', { host_catalog_id: catalog, attributes: { address: '192.0.2.1' } }),
  'host-set': await make('host-sets', { host_catalog_id: catalog }),
  'credential-store': store,
  credential: await make('credentials', {
    credential_store_id: store,
    type: 'username_password',
    attributes: secret,
  }),
  target: await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: 't',
    attributes: { default_port: 22 },
  }),
  alias: await make('aliases', { scope_id: 'global', type: 'target', value: 'an.alias' }),
};

const CONTAINERS: Readonly<Record<string, string>> = {
  scope_id: project,
  auth_method_id: auth_method,
  host_catalog_id: catalog,
  credential_store_id: store,
};

/** Whether there was an answer that is a refusal, and neither it nor a record has the secret. */
async function send(method: string, path: string, body: object): Promise<void> {
  const reply = await call(method, path, body);
  assert.ok(reply.status !== 500, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`);
  // What endpoints keep or repeat on purpose is not tried here.
  assert.ok(!reply.text.includes(CANARY), `${method} ${path}: ${reply.text}`);
}

let seen = 0;

async function requireNoRecord(): Promise<void> {
  await running.app.audit.close();
  let count = 0;
  const wrong: string[] = [];
  for (let seq = seen; ; ) {
    const rows = await listRecordsAfter(running.app.db, { node: 'local', seq, limit: 1000 });
    wrong.push(...rows.flatMap(({ record }) => (record.includes(CANARY) ? [record] : [])));
    count += rows.length;
    seen = seq = rows.at(-1)?.seq ?? seq;
    if (rows.length < 1000) break;
  }
  assert.ok(count > 100, 'the requests were recorded');
  assert.deepEqual(wrong, []);
}

const takesFields = ({ method }: { method: string }): boolean =>
  method === 'POST' || method === 'PATCH';

function pathOf(route: BoundaryRoute): string {
  const type = typeof route.access === 'object' && 'type' in route.access ? route.access.type : '';
  return route.path.slice('/v1/'.length).replace('{id}', IDS[type] ?? 'x_1234567890');
}

/** Subtypes of a resource, and none at all: its attributes are anybody's then. */
const kindsOf = ({ attributes = {} }: BoundaryRoute): object[] => [
  {},
  ...Object.keys(attributes).map((type) => ({ type })),
];

test('an object in the place of any field of the broker is in no record and no answer', async () => {
  let sent = 0;
  for (const route of (declaredRoutes.broker as readonly BoundaryRoute[]).filter(takesFields)) {
    const path = pathOf(route);
    const names = Object.keys(route.input.shape).filter((name) => name !== 'attributes');
    const base =
      route.method === 'PATCH' || route.path.includes('{id}') ? { version: 1 } : CONTAINERS;
    for (const name of names) {
      for (const value of valuesFor(name)) {
        await send(route.method, path, { ...base, [name]: value });
        sent += 1;
      }
    }
    if (!('attributes' in route.input.shape)) continue;
    const shapes = Object.values(route.attributes ?? {}).flatMap(({ shape }) => Object.keys(shape));
    for (const name of new Set([...shapes, 'nothing'])) {
      for (const value of name === 'object' ? [] : valuesFor(name)) {
        for (const kind of kindsOf(route)) {
          await send(route.method, path, { ...base, ...kind, attributes: { [name]: value } });
          sent += 1;
        }
      }
    }
  }
  assert.ok(sent > 1000, `${sent} requests`);
  await requireNoRecord();
});

const PLACES: readonly [routes: readonly AnyRoute[], mount: string][] = [
  [declaredRoutes.system, ''],
  ...Object.entries(declaredRoutes.secret).map(([type, routes]): [readonly AnyRoute[], string] => [
    routes,
    type,
  ]),
  ...Object.entries(declaredRoutes.auth).map(([type, routes]): [readonly AnyRoute[], string] => [
    routes,
    `auth/${type}`,
  ]),
];

test('an object in the place of any field of the authority is in no record and no answer', async () => {
  let sent = 0;
  for (const [routes, mount] of PLACES) {
    for (const route of routes.filter(takesFields)) {
      const path = route.path
        .slice('/v1/'.length)
        .replace('{mount}', mount)
        .replaceAll(/\{[^}]*\}/g, 'x');
      for (const name of route.audit ?? []) {
        for (const value of valuesFor(name)) {
          await send(route.method, path, { [name]: value });
          sent += 1;
        }
      }
    }
  }
  assert.ok(sent > 1000, `${sent} requests`);
  await requireNoRecord();
});
