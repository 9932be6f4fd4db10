// An object with a secret in it, in the place of whatever any endpoint takes, on both APIs.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AnyRoute } from '../../src/app/route.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import type { AnyBoundaryRoute } from '../../src/broker/resource/route.ts';
import { CONNECTION_DEFAULTS } from '../../src/config/connections.ts';
import { NOT_RECORDED } from '../../src/core/recorded-shape.ts';
import { declaredRoutes } from '../../src/start/routes.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

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

let now = Date.now();
const connections = { ...CONNECTION_DEFAULTS, trusted_proxies: ['127.0.0.1'] };
const broker = await startBroker({ after }, { config: { connections }, now: () => now });
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

/** How somebody sends a request. */
interface Sender {
  token?: string;
  headers?: Record<string, string>;
}

/** Whether there was an answer that is a refusal, and neither it nor a record has the secret. */
async function send(method: string, path: string, body: object, as: Sender = {}): Promise<number> {
  const { status, text } = await call(method, path, body, as);
  assert.ok(status !== 500, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
  // What endpoints keep or repeat on purpose is not tried here.
  assert.ok(!text.includes(CANARY), `${method} ${path}: ${text}`);
  return status;
}

let seen = 0;

/** @returns how many records since the last time say that something was not recorded */
async function requireNoRecord(least = 100): Promise<number> {
  await writeRecords(running);
  let [count, unrecorded] = [0, 0];
  const wrong: string[] = [];
  for (let seq = seen; ; ) {
    const rows = await listRecordsAfter(running.app.db, { node: 'local', seq, limit: 1000 });
    wrong.push(...rows.flatMap(({ record }) => (record.includes(CANARY) ? [record] : [])));
    count += rows.length;
    unrecorded += rows.filter(({ record }) => record.includes(NOT_RECORDED)).length;
    seen = seq = rows.at(-1)?.seq ?? seq;
    if (rows.length < 1000) break;
  }
  assert.ok(count > least, `${count} requests were recorded`);
  assert.deepEqual(wrong, []);
  return unrecorded;
}

const takesFields = ({ method }: { method: string }): boolean =>
  method === 'POST' || method === 'PATCH';

function pathOf(route: AnyBoundaryRoute): string {
  const type = typeof route.access === 'object' && 'type' in route.access ? route.access.type : '';
  return route.path.slice('/v1/'.length).replace('{id}', IDS[type] ?? 'x_1234567890');
}

/** Subtypes of a resource, and none at all: its attributes are anybody's then. */
const kindsOf = ({ attributes = {} }: AnyBoundaryRoute): object[] => [
  {},
  ...Object.keys(attributes).map((type) => ({ type })),
];

test('an object in the place of any field of the broker is in no record and no answer', async () => {
  let sent = 0;
  for (const route of (declaredRoutes.broker as readonly AnyBoundaryRoute[]).filter(takesFields)) {
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

const pathUnder = (mount: string, path: string): string =>
  path
    .slice('/v1/'.length)
    .replace('{mount}', mount)
    .replaceAll(/\{[^}]*\}/g, 'x');

const ENDPOINTS = PLACES.flatMap(([routes, mount]) =>
  routes.filter(takesFields).map((route) => ({ route, path: pathUnder(mount, route.path), mount })),
);

/** Fields that records may have, and those within others, each with values that hold a secret. */
function fieldsOf({
  audit = [],
  audit_within = {},
}: AnyRoute): [name: string, values: unknown[]][] {
  return [
    ...audit.map((name): [string, unknown[]] => [name, valuesFor(name)]),
    ...Object.entries(audit_within).map(([name, within]): [string, unknown[]] => [
      name,
      within.flatMap((field) => valuesFor(field).map((value) => ({ [field]: value }))),
    ]),
  ];
}

test('an object in the place of any field of the Vault API is in no record and no answer', async () => {
  let sent = 0;
  for (const { route, path } of ENDPOINTS) {
    for (const [name, values] of fieldsOf(route)) {
      for (const value of values) {
        await send(route.method, path, { [name]: value });
        sent += 1;
      }
    }
  }
  assert.ok(sent > 1000, `${sent} requests`);
  await requireNoRecord();
});

const ALL = 'capabilities = ["create","read","update","patch","delete","list","sudo"]';
const TWINS = ENDPOINTS.flatMap(({ route, mount }) =>
  (route.sets_also ?? []).map((also) => pathUnder(mount, also.path)),
);

/** Policies that refuse each request in their own way, most of them once its body is read. */
const REFUSING: [how: string, policy: string, unread: boolean][] = [
  ['a required parameter', `path "*" { ${ALL}\nrequired_parameters = ["never-sent"] }`, false],
  ['a denied parameter', `path "*" { ${ALL}\ndenied_parameters = { "also" = [] } }`, false],
  ['all parameters denied', `path "*" { ${ALL}\ndenied_parameters = { "*" = [] } }`, false],
  [
    'an allowed parameter',
    `path "*" { ${ALL}\nallowed_parameters = { "never-sent" = ["x"] } }`,
    false,
  ],
  [
    'denials of what sets the same',
    [`path "*" { ${ALL} }`, ...TWINS.map((twin) => `path "${twin}" { policy = "deny" }`)].join(
      '\n',
    ),
    true,
  ],
  ['no permission', 'path "cubbyhole/none" { capabilities = ["read"] }', true],
  ['wrapping for too long', `path "*" { ${ALL}\nmax_wrapping_ttl = "1s" }`, true],
];

/** Requests with all of an endpoint's fields at once, each with a secret. */
async function sendAll(as: () => Sender, also: object = {}): Promise<number[]> {
  const statuses: number[] = [];
  for (const { route, path } of ENDPOINTS) {
    const fields = fieldsOf(route);
    const most = Math.max(0, ...fields.map(([, values]) => values.length));
    for (let at = 0; at < most; at += 1) {
      const body = fields.map(([name, values]) => [name, values[at % values.length]]);
      statuses.push(await send(route.method, path, { ...Object.fromEntries(body), ...also }, as()));
    }
  }
  assert.ok(statuses.length > 200, `${statuses.length} requests`);
  return statuses;
}

for (const [how, policy, unread] of REFUSING) {
  test(`an object in the place of any field is in no record where policies refuse it: ${how}`, async () => {
    assert.equal((await call('PUT', 'sys/policies/acl/refusing', { policy })).status, 204);
    const made = await call('POST', 'auth/token/create', { policies: ['refusing'] });
    const token = made.textAt('auth.client_token');
    const headers = { 'x-vault-wrap-ttl': '60' };
    const as = how.startsWith('wrapping') ? { token, headers } : { token };
    const statuses = await sendAll(() => as, { also: CANARY });
    assert.ok(statuses.filter((status) => status === 403).length > 100, `${statuses}`);
    const unrecorded = await requireNoRecord();
    assert.ok(unread || unrecorded > 100, `${unrecorded} records have something not recorded`);
  });
}

/** Of unauthenticated requests from one place, and in one second, only a few have records of their own. */
let requests = 0;
const unauthenticated = (token: string): Sender => {
  now += 1_000;
  requests += 1;
  const place = `198.51.${Math.floor(requests / 250)}.${requests % 250}`;
  return { token, headers: { 'x-forwarded-for': place } };
};

for (const [who, token] of [
  ['nobody', ''],
  ['an unknown token', `hvs.${'x'.repeat(24)}`],
] as const) {
  test(`an object in the place of any field is in no record of a request by ${who}`, async () => {
    await sendAll(() => unauthenticated(token));
    await requireNoRecord();
  });
}

test('an object that was sent where nothing is, is in no record', async () => {
  for (const [method, path] of [
    ['POST', 'nowhere/x'],
    ['POST', 'sys/nowhere'],
    ['POST', 'auth/token/nowhere'],
    ['PATCH', 'sys/policies/acl/x'],
    ['POST', `targets/${encodeURIComponent(JSON.stringify(nested))}`],
  ] as const) {
    await send(method, path, nested);
    await send(method, path, { policies: [nested], name: nested });
  }
  await requireNoRecord(5);
});

const elsewhere = await make('scopes', { scope_id: 'global', name: 'elsewhere' });
const GRANTED: [who: string, grants: string[], grant_scope_ids: string[]][] = [
  ['nobody in particular', [], []],
  ['somebody who may do all elsewhere', ['ids=*;type=*;actions=*'], [elsewhere]],
  ['somebody who may read', ['ids=*;type=*;actions=read,list'], ['this', 'descendants']],
];

for (const [who, grants, grant_scope_ids] of GRANTED) {
  test(`an object in the place of any field of the broker is in no record of a request by ${who}`, async () => {
    const { token } = await person(grants, { grant_scope_ids });
    const headers = { authorization: `Bearer ${token}` };
    for (const as of [{ token: '', headers }, unauthenticated('')]) {
      for (const route of (declaredRoutes.broker as readonly AnyBoundaryRoute[]).filter(
        takesFields,
      )) {
        const names = Object.keys(route.input.shape).filter((name) => name !== 'attributes');
        const shapes = Object.values(route.attributes ?? {}).flatMap(({ shape }) =>
          Object.keys(shape),
        );
        for (const at of [0, 1, 2]) {
          const allOf = (fields: readonly string[]) =>
            Object.fromEntries(fields.map((name) => [name, valuesFor(name)[at]]));
          const attributes = { attributes: allOf(shapes) };
          for (const body of [allOf(names), { ...CONTAINERS, version: 1, ...attributes }]) {
            await send(route.method, pathOf(route), body, as);
          }
        }
      }
    }
    await requireNoRecord();
  });
}

test('an object in the place of any field is in no record of a server that is sealed', async () => {
  assert.equal((await call('PUT', 'sys/seal')).status, 204);
  await sendAll(() => unauthenticated('root'));
  await requireNoRecord(0);
});
