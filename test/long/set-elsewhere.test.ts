// What is set by a field at one path and at a path of its own as well: what policies say of that path
// counts for the field.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyRoute } from '../../src/app/route.ts';
import { compileRoutes } from '../../src/http/vault/router.ts';
import { authEngines, secretEngines, systemRoutes } from '../../src/start/routes.ts';
import { deny, personWith } from '../support/denied.ts';
import { type Client, startTestServer } from '../support/server.ts';

type Request = [method: string, path: string, body?: object];

const user = (body: object): Request => ['POST', 'auth/up/users/Ann', body];
const role = (body: object): Request => ['POST', 'auth/ar/role/x', body];
const secret = (body: object): Request => ['POST', 'auth/ar/role/x/custom-secret-id', body];
const child = (body: object): Request => ['POST', 'auth/token/create', body];
const zeros = { default_lease_ttl: '0s', max_lease_ttl: 0, force_no_cache: false, options: null };
let mounted = 0;
const mount = (base: string, type: string, body: object): Request => {
  mounted += 1;
  return ['POST', `sys/${base}/m${mounted}`, { type, ...body }];
};

const update = (path: string, conditions: string): string =>
  `path "${path}" { capabilities = ["create","update"] ${conditions} }`;

const PASSWORD = 'auth/up/users/+/password';
const POLICIES = 'auth/up/users/ann/policies';
const only = 'allowed_parameters = { "token_policies" = ["default"] }';
const secretIds = 'auth/ar/role/+/secret-id';
const capped = 'denied_parameters = { "max_lease_ttl" = ["24h"] }';

/** A stanza about the path of its own, and requests to the other. */
const TABLE: [stanza: string, cases: [request: Request, status: number][]][] = [
  [
    deny(PASSWORD),
    [
      [user({ password: 'correct horse' }), 403],
      [user({ token_policies: ['admin'] }), 204],
      [user({ password: null, token_ttl: '1h' }), 204],
      [user({ password: '', token_ttl: '1h' }), 204],
      [['POST', 'auth/up/users/new', { password: 'correct horse' }], 403],
    ],
  ],
  [
    deny('auth/up/users/ANN/policies'),
    [
      [user({ token_policies: ['admin'] }), 403],
      [user({ policies: 'admin' }), 403],
      [user({ token_policies: [] }), 403],
      [user({ password: 'correct horse' }), 204],
      [['POST', 'auth/up/users/bob', { policies: 'admin', password: 'correct horse' }], 204],
    ],
  ],
  [
    update(POLICIES, only),
    [
      [user({ token_policies: ['default'], password: 'correct horse' }), 204],
      [user({ policies: ['default'] }), 204],
      [user({ token_policies: ['default', 'admin'] }), 403],
      [user({ policies: 'admin' }), 403],
    ],
  ],
  [
    update(POLICIES, 'required_parameters = ["reason"]'),
    [
      [user({ policies: ['default'] }), 403],
      [user({ policies: ['default'], reason: 'x' }), 204],
      [user({ token_ttl: '1h' }), 204],
    ],
  ],
  [
    update('auth/up/users/*', 'required_parameters = ["token_ttl"]'),
    [[user({ policies: ['default'], token_ttl: '1h' }), 204]],
  ],
  [update(PASSWORD, 'min_wrapping_ttl = "60s"'), [[user({ password: 'correct horse' }), 403]]],
  [
    deny('auth/ar/role/+/role-id'),
    [
      [role({ role_id: 'mine' }), 403],
      [role({ role_id: '', token_ttl: '1h' }), 204],
      [role({ token_policies: ['x'] }), 204],
    ],
  ],
  [
    deny(secretIds),
    [
      [secret({ secret_id: 'denied-1234567890' }), 403],
      [['POST', 'auth/ar/role/x/secret-id', {}], 403],
    ],
  ],
  [
    deny('auth/ar/role/+/custom-secret-id'),
    [
      [['POST', 'auth/ar/role/x/secret-id', {}], 200],
      [secret({ secret_id: 'denied-1234567890' }), 403],
    ],
  ],
  [
    update(secretIds, 'allowed_parameters = { "metadata" = [] }'),
    [
      [secret({ secret_id: 'allowed-1234567890' }), 200],
      [secret({ secret_id: 'allowed-2234567890', metadata: '{"a":"b"}' }), 200],
      [secret({ secret_id: 'allowed-3234567890', num_uses: 0 }), 403],
    ],
  ],
  [
    deny('auth/token/create-orphan'),
    [
      [child({ no_parent: true }), 403],
      [child({ no_parent: 'true' }), 403],
      [['POST', 'auth/token/create/by-role', { no_parent: true }], 403],
      [child({ no_parent: false }), 200],
      [child({ ttl: '1h' }), 200],
    ],
  ],
  [
    `path "auth/token/create-orphan" { capabilities = ["update","sudo"] denied_parameters = { "policies" = ["x"] } }`,
    [
      [child({ no_parent: true, policies: ['x'] }), 403],
      [child({ no_parent: true, policies: ['default'] }), 200],
      [child({ policies: ['x'] }), 200],
    ],
  ],
  [
    deny('sys/mounts/+/tune'),
    [
      [mount('mounts', 'pki', { config: { max_lease_ttl: '87600h' } }), 403],
      [mount('mounts', 'pki', { description: 'told' }), 403],
      [mount('mounts', 'pki', { description: '', config: zeros, options: null }), 204],
      [mount('mounts', 'pki', {}), 204],
      [mount('auth', 'userpass', { config: { token_type: 'batch' } }), 204],
    ],
  ],
  [
    deny('sys/auth/+/tune'),
    [
      [mount('auth', 'userpass', { config: { token_type: 'batch' } }), 403],
      [mount('auth', 'userpass', { config: zeros }), 204],
    ],
  ],
  [
    update('sys/mounts/+/tune', capped),
    [
      [mount('mounts', 'pki', { config: { max_lease_ttl: 86_400 } }), 403],
      [mount('mounts', 'pki', { config: { max_lease_ttl: '25h' } }), 204],
    ],
  ],
  [
    deny('ca/root/replace'),
    [
      [['POST', 'ca/config/issuers', { default: 'only' }], 403],
      [['POST', 'ca/config/keys', { default: 'only' }], 200],
    ],
  ],
  [deny('ca/config/issuers'), [[['POST', 'ca/root/replace', { default: 'only' }], 403]]],
  [
    update('ca/config/issuers', 'denied_parameters = { "default" = ["only"] }'),
    [
      [['POST', 'ca/root/replace', { default: 'only' }], 403],
      [['POST', 'ca/root/replace', {}], 400],
    ],
  ],
];

/** Two endpoints for the same. */
TABLE.push(
  [
    deny('ca/issuers/generate/root/*'),
    [
      [['POST', 'ca/root/generate/internal', { common_name: 'x', ttl: '24h' }], 403],
      [['POST', 'ca/issuers/generate/root/internal', { common_name: 'x', ttl: '24h' }], 403],
    ],
  ],
  [
    update('ca/root/generate/internal', 'denied_parameters = { "ttl" = ["24h"] }'),
    [
      [['POST', 'ca/issuers/generate/root/internal', { common_name: 'x', ttl: 86_400 }], 403],
      [['POST', 'ca/issuers/generate/root/internal', { common_name: 'x', ttl: '23h' }], 200],
    ],
  ],
  [
    deny('sys/policies/acl/Admin'),
    [
      [['GET', 'sys/policy/admin'], 403],
      [['POST', 'sys/policy/ADMIN', { rules: '' }], 403],
      [['DELETE', 'sys/policy/admin'], 403],
      [['DELETE', 'sys/policy/other'], 204],
    ],
  ],
  [
    `path "sys/policy/+" { capabilities = ["update"] required_parameters = ["reason"] denied_parameters = { "policy" = [""] } }`,
    [
      [['POST', 'sys/policies/acl/x', { policy: 'path "a" {}' }], 403],
      [['POST', 'sys/policies/acl/x', { policy: 'path "a" {}', reason: 'x' }], 204],
      [['POST', 'sys/policies/acl/x', { policy: '', reason: 'x' }], 403],
      [['GET', 'sys/policies/acl/x'], 200],
      [['DELETE', 'sys/policies/acl/x'], 204],
    ],
  ],
  [
    deny('sys/auth/up/tune'),
    [
      [['POST', 'sys/mounts/auth/up/tune', { description: 'x' }], 403],
      [['POST', 'sys/mounts/auth/ar/tune', { description: 'x' }], 204],
      [['GET', 'sys/mounts/auth/up/tune'], 403],
      [['GET', 'sys/mounts/auth/up'], 200],
    ],
  ],
  [
    deny('sys/auth/up'),
    [
      [['GET', 'sys/mounts/auth/up'], 403],
      [['GET', 'sys/mounts/auth/ar'], 200],
    ],
  ],
  [
    deny('sys/policies/*'),
    [
      [['GET', 'sys/policy'], 403],
      [['LIST', 'sys/policy'], 403],
    ],
  ],
  [
    deny('sys/policies/acl/*'),
    [
      [['GET', 'sys/policy'], 403],
      [['LIST', 'sys/policy'], 403],
      [['GET', 'sys/policy/default'], 403],
    ],
  ],
  [deny('sys/policy/*'), [[['LIST', 'sys/policies/acl'], 403]]],
  [deny('sys/policies/aclx*'), [[['LIST', 'sys/policy'], 200]]],
  [
    deny('sys/policies/acl/+'),
    [
      [['GET', 'sys/policy'], 200],
      [['LIST', 'sys/policy'], 200],
    ],
  ],
  [
    deny('sys/policy'),
    [
      [['LIST', 'sys/policies/acl'], 403],
      [['GET', 'sys/policies/acl/default'], 200],
    ],
  ],
  [deny('sys/rotate'), [[['POST', 'sys/rotate/keyring'], 403]]],
  [deny('sys/rotate/keyring'), [[['POST', 'sys/rotate'], 403]]],
  [deny('sys/rotate/keyrings'), [[['POST', 'sys/rotate'], 204]]],
  [deny('sys/generate-root'), [[['DELETE', 'sys/generate-root/attempt'], 403]]],
  [
    deny('sys/generate-root/attempt'),
    [
      [['DELETE', 'sys/generate-root'], 403],
      [['DELETE', 'sys/generate-root/attempt'], 403],
    ],
  ],
  [deny('sys/generate-root/update'), [[['DELETE', 'sys/generate-root'], 204]]],
  [
    deny('identity/entity/name'),
    [
      [['LIST', 'identity/entity/id'], 403],
      [['LIST', 'identity/entity/name'], 403],
      [['LIST', 'identity/group/id'], 404],
    ],
  ],
  [
    deny('identity/entity/id'),
    [
      [['LIST', 'identity/entity/id'], 403],
      [['LIST', 'identity/entity/name'], 200],
    ],
  ],
  [deny('identity/entity/name/*'), [[['LIST', 'identity/entity/id'], 403]]],
  [deny('identity/entity/name/ann'), [[['LIST', 'identity/entity/id'], 200]]],
  [deny('identity/group/name'), [[['LIST', 'identity/group/id'], 403]]],
  [deny('sys/mounts/*'), [[mount('auth', 'userpass', { description: 'x' }), 204]]],
);

// One lease, or those beneath a path: each act has several paths, and a stanza speaks of one of them.
const LEASE = 'ca/issue/a/1';
const REVOKE = ['sys/leases/revoke', 'sys/revoke'] as const;
const RENEW = ['sys/leases/renew', 'sys/renew'] as const;
const PREFIX = ['sys/leases/revoke-prefix', 'sys/revoke-prefix'] as const;
const FORCE = ['sys/leases/revoke-force', 'sys/revoke-force'] as const;
const atPath = (places: readonly string[], id: string = LEASE, body: object = {}): Request[] =>
  places.map((place) => ['POST', `${place}/${id}`, body]);
const inBody = (places: readonly string[], id: string = LEASE, body?: object): Request[] =>
  places.map((place) => ['POST', place, { lease_id: id, ...body }]);
const both = (places: readonly string[], id?: string, body?: object): Request[] => [
  ...atPath(places, id, body),
  ...inBody(places, id, body),
];
const all = (status: number, ...requests: Request[][]): [Request, number][] =>
  requests.flat().map((request) => [request, status]);
const revoking = 'capabilities = ["update"]';
TABLE.push(
  ...[
    ...REVOKE,
    ...REVOKE.map((place) => `${place}/*`),
    ...REVOKE.map((place) => `${place}/${LEASE}`),
  ].map((place): (typeof TABLE)[number] => [
    deny(place),
    [
      ...all(403, both(REVOKE), atPath(PREFIX), atPath(FORCE)),
      ...all(400, both(RENEW), inBody(['sys/leases/lookup'])),
    ],
  ]),
  [
    deny(`sys/revoke/${LEASE}`),
    all(204, both(REVOKE, 'ca/issue/b/1'), atPath(PREFIX, 'ca/issue/b/1'), atPath(FORCE, 'ca/b')),
  ],
  ...[...RENEW, ...RENEW.map((place) => `${place}/*`)].map((place): (typeof TABLE)[number] => [
    deny(place),
    [
      ...all(403, both(RENEW)),
      ...all(204, both(REVOKE)),
      ...all(400, inBody(['sys/leases/lookup'])),
    ],
  ]),
  [deny(`sys/renew/${LEASE}`), all(400, both(RENEW, 'ca/issue/b/1'))],
  [deny('sys/leases/lookup'), all(204, both(REVOKE))],
  ...PREFIX.map((place): (typeof TABLE)[number] => [
    deny(`${place}/*`),
    [
      ...all(403, atPath(PREFIX), atPath(PREFIX, 'ca/'), atPath(FORCE), atPath(FORCE, 'ca/')),
      ...all(204, both(REVOKE)),
    ],
  ]),
  [
    deny('sys/revoke-prefix/ca'),
    [
      ...all(403, atPath(PREFIX, 'ca'), atPath(PREFIX, 'ca/'), atPath(FORCE, 'ca')),
      ...all(204, atPath(PREFIX, 'cab'), atPath(FORCE, 'cab')),
    ],
  ],
  ...FORCE.map((place): (typeof TABLE)[number] => [
    deny(`${place}/*`),
    [...all(403, atPath(FORCE)), ...all(204, atPath(PREFIX), both(REVOKE))],
  ]),
  ...REVOKE.map((place): (typeof TABLE)[number] => [
    `path "${place}" { ${revoking} allowed_parameters = { "lease_id" = ["ca/issue/a/*"] } }`,
    [
      ...all(204, both(REVOKE), atPath(PREFIX)),
      ...all(403, both(REVOKE, 'ca/issue/b/1')),
      ...all(403, both(REVOKE, LEASE, { sync: true })),
    ],
  ]),
  ...REVOKE.map((place): (typeof TABLE)[number] => [
    `path "${place}" { ${revoking} denied_parameters = { "sync" = [false] } }`,
    [
      ...all(403, both(REVOKE, LEASE, { sync: 'f' }), atPath(PREFIX, LEASE, { sync: 0 })),
      ...all(204, both(REVOKE), atPath(PREFIX), atPath(FORCE)),
    ],
  ]),
  ...REVOKE.map((place): (typeof TABLE)[number] => [
    `path "${place}" { ${revoking} required_parameters = ["lease_id"] }`,
    all(204, both(REVOKE), atPath(PREFIX), atPath(FORCE)),
  ]),
  ...REVOKE.map((place): (typeof TABLE)[number] => [
    `path "${place}" { ${revoking} min_wrapping_ttl = "60s" }`,
    [...all(403, both(REVOKE), atPath(PREFIX)), ...all(400, both(RENEW))],
  ]),
  ...['ca/certs', 'ca/certs/', 'ca/certs/revoked', 'ca/certs/search'].map(
    (place): (typeof TABLE)[number] => [
      deny(place),
      [
        [['GET', 'ca/certs/search'], 403],
        [['LIST', 'ca/certs/search'], 403],
        [['LIST', 'ca/certs/search?state=revoked'], 403],
        [['LIST', 'ca/certs'], place.startsWith('ca/certs/') && place !== 'ca/certs/' ? 200 : 403],
        [['LIST', 'ca/issuers'], 200],
      ],
    ],
  ),
  ...['ca/cert', 'ca/certs/revokeds', 'ca/cert/*', 'other/certs'].map(
    (place): (typeof TABLE)[number] => [
      deny(place),
      [
        [['GET', 'ca/certs/search'], 200],
        [['LIST', 'ca/certs/search'], 200],
      ],
    ],
  ),
  [
    'path "ca/certs" { capabilities = ["list"] pagination_limit = 10 }',
    [
      [['GET', 'ca/certs/search?limit=10'], 200],
      [['LIST', 'ca/certs/search?limit=11'], 403],
      [['LIST', 'ca/certs/search'], 403],
    ],
  ],
);

/** What is said of lists, and of who has it wrapped or in pages. */
const OF_LISTS = [
  ['list', 'pagination_limit = 1', ''],
  ['list', 'pagination_limit = 1', '/'],
  ['list', 'min_wrapping_ttl = "60s"', ''],
  ['list', 'min_wrapping_ttl = "60s"', '/'],
  ['list', 'max_wrapping_ttl = "60s"', '/'],
] as const;
for (const [capability, condition, slash] of OF_LISTS) {
  const of = (path: string, granted: string): string =>
    `path "${path}${slash}" { capabilities = ["${granted}"] ${condition} }`;
  TABLE.push(
    [
      of('sys/policies/acl', capability),
      [
        [['LIST', 'sys/policies/acl'], 403],
        [['LIST', 'sys/policy'], 403],
        [['GET', 'sys/policy'], 403],
        [['GET', 'sys/policy/default'], 200],
      ],
    ],
    [
      of('sys/policy', capability),
      [
        [['LIST', 'sys/policies/acl'], 403],
        [['GET', 'sys/policies/acl/default'], 200],
      ],
    ],
    // About something else than lists.
    [of('sys/policies/acl', 'delete'), [[['LIST', 'sys/policy'], 200]]],
    [of('sys/policies/aclx', capability), [[['LIST', 'sys/policy'], 200]]],
  );
}
TABLE.push(
  [
    'path "sys/policies/acl/" { capabilities = ["list"] pagination_limit = 10 }',
    [
      // These lists have no pages, at either endpoint.
      [['LIST', 'sys/policies/acl?limit=10'], 403],
      [['LIST', 'sys/policy?limit=10'], 403],
    ],
  ],
  [
    'path "sys/policy" { capabilities = ["read"] min_wrapping_ttl = "60s" }',
    [
      [['LIST', 'sys/policies/acl'], 403],
      [['GET', 'sys/policies/acl/default'], 200],
    ],
  ],
  [
    deny('sys/policy/'),
    [
      [['GET', 'sys/policy'], 403],
      [['LIST', 'sys/policies/acl'], 403],
      [['GET', 'sys/policies/acl/default'], 200],
    ],
  ],
);

// A mount that moves comes with all that it has, and is judged as if it were made where it comes.
const TO_MOVE = {
  plain: { type: 'pki' },
  told: { type: 'pki', description: 'told', options: { a: 'b' } },
  capped: { type: 'pki', config: { max_lease_ttl: '24h' } },
  local: { type: 'pki', local: true },
  'auth/people': { type: 'userpass' },
  'auth/jobs': { type: 'approle', config: { token_type: 'batch' } },
} as const;
let moved = 0;
/** To a path of its own each: what is refused stays where it is, and what is not is moved back by root. */
const move = (from: keyof typeof TO_MOVE, more: object = {}): Request => {
  moved += 1;
  const to = from.startsWith('auth/') ? `auth/to${moved}` : `to${moved}`;
  return ['POST', 'sys/remount', { from, to, ...more }];
};
TABLE.push(
  [
    update('sys/mounts/+', 'denied_parameters = { "type" = ["pki"] }'),
    [
      [move('plain'), 403],
      [move('told'), 403],
      [move('auth/people'), 200],
    ],
  ],
  [
    update('sys/mounts/+', 'denied_parameters = { "plugin_name" = ["pki"] }'),
    [[move('plain'), 403]],
  ],
  [
    update('sys/mounts/+', 'denied_parameters = { "type" = ["ssh"] }'),
    [
      [move('plain'), 200],
      [move('plain', { type: 'ssh' }), 403],
    ],
  ],
  [
    update('sys/mounts/+', 'allowed_parameters = { "type" = ["pki"] }'),
    [
      [move('plain'), 200],
      [move('told'), 403],
      [move('capped'), 403],
      [move('local'), 403],
      [move('plain', { description: 'of the request alone' }), 200],
    ],
  ],
  [
    update('sys/mounts/+', 'allowed_parameters = { "type" = ["pki"] "*" = [] }'),
    [[move('local'), 200]],
  ],
  [
    update('sys/mounts/+', 'denied_parameters = { "options" = [] "local" = ["t"] }'),
    [
      [move('told'), 403],
      [move('local'), 403],
      [move('plain'), 200],
    ],
  ],
  [
    update('sys/mounts/+', 'required_parameters = ["description"]'),
    [
      [move('plain'), 403],
      [move('plain', { description: 'not kept' }), 403],
      [move('told'), 200],
    ],
  ],
  [
    update('sys/mounts/+', 'required_parameters = ["reason"]'),
    [
      [move('plain'), 403],
      [move('plain', { reason: 'x' }), 200],
    ],
  ],
  [
    'path "sys/mounts/+" { capabilities = ["read"] required_parameters = ["description"] }',
    [[move('plain'), 200]],
  ],
  [
    update('sys/mounts/+/tune', capped),
    [
      [move('capped'), 403],
      [move('plain'), 200],
    ],
  ],
  [
    update('sys/mounts/+/tune', 'denied_parameters = { "max_lease_ttl" = ["25h"] }'),
    [[move('capped'), 200]],
  ],
  [
    deny('sys/mounts/+/tune'),
    [
      [move('capped'), 403],
      [move('told'), 403],
      [move('plain'), 200],
      [move('auth/jobs'), 200],
    ],
  ],
  [
    update('sys/auth/+', 'denied_parameters = { "type" = ["userpass"] }'),
    [
      [move('auth/people'), 403],
      [move('auth/jobs'), 200],
      [move('plain'), 200],
    ],
  ],
  [
    update('sys/auth/*', 'allowed_parameters = { "type" = ["approle"] "config" = [] }'),
    [
      [move('auth/people'), 403],
      [move('auth/jobs'), 403],
    ],
  ],
  [
    update(
      'sys/auth/*',
      'allowed_parameters = { "type" = [] "config" = [] "token_type" = ["batch"] }',
    ),
    [
      [move('auth/people'), 200],
      [move('auth/jobs'), 200],
    ],
  ],
  [
    update('sys/auth/+/tune', 'denied_parameters = { "token_type" = ["batch"] }'),
    [
      [move('auth/jobs'), 403],
      [move('auth/people'), 200],
    ],
  ],
);

async function startWorld(client: Client): Promise<void> {
  const root: Request[] = [
    ['POST', 'sys/auth/up', { type: 'userpass' }],
    ['POST', 'sys/auth/ar', { type: 'approle' }],
    ['POST', 'sys/mounts/ca', { type: 'pki' }],
    ['POST', 'auth/up/users/ann', { password: 'correct horse' }],
    ['POST', 'auth/ar/role/x', { token_policies: ['default'] }],
    ['POST', 'auth/token/roles/by-role', {}],
    ['POST', 'identity/entity', { name: 'ann' }],
    [
      'POST',
      'ca/root/generate/internal',
      { common_name: 'x', key_type: 'ec', issuer_name: 'only', key_name: 'only', ttl: '24h' },
    ],
  ];
  for (const [place, body] of Object.entries(TO_MOVE)) {
    root.push(['POST', `sys/${place.startsWith('auth/') ? place : `mounts/${place}`}`, body]);
  }
  for (const request of root) {
    const reply = await client.call(...request);
    assert.ok(reply.status < 300, reply.text);
  }
}

async function moveBack(client: Client, path: string, body: object = {}): Promise<void> {
  if (path !== 'sys/remount') return;
  const { from, to }: { from?: string; to?: string } = body;
  await client.call('POST', path, { from: to, to: from });
}

test('what policies say of the path of its own counts where a field sets the same', async (t) => {
  const client = await startTestServer(t);
  await startWorld(client);
  for (const [at, [stanza, cases]] of TABLE.entries()) {
    const ask = await personWith(client, `person-${at}`, stanza);
    for (const [[method, path, body], status] of cases) {
      const told = `${stanza}: ${path} ${JSON.stringify(body)}`;
      assert.equal(await ask(method, path, body), status, told);
      await moveBack(client, path, body);
    }
  }
});

test('what is not granted at the path of its own need not be', async (t) => {
  const client = await startTestServer(t);
  await startWorld(client);
  await client.call('PUT', 'sys/policies/acl/hr', { policy: update('auth/up/users/+', '') });
  const made = await client.call('POST', 'auth/token/create', { policies: ['hr'] });
  const token = made.textAt('auth.client_token');
  const ask = async (path: string) =>
    (await client.call('POST', path, { password: 'correct horse' }, { token })).status;
  assert.equal(await ask('auth/up/users/ann'), 204);
  assert.equal(await ask('auth/up/users/ann/password'), 403);
});

// The declarations.

const ENGINES: [name: string, prefix: string, routes: readonly AnyRoute[]][] = [
  ['sys', '/v1/sys', systemRoutes],
  ...Object.entries(secretEngines).map(([name, routes]): [string, string, readonly AnyRoute[]] => [
    name,
    '/v1/{mount}',
    routes,
  ]),
  ...Object.entries(authEngines).map(([name, routes]): [string, string, readonly AnyRoute[]] => [
    name,
    '/v1/auth/{mount}',
    routes,
  ]),
];

for (const [name, prefix, routes] of ENGINES) {
  const declaring = routes.filter(({ sets_also = [] }) => sets_also.length > 0);
  for (const route of declaring) {
    test(`${name}: what ${route.id} sets elsewhere is set there`, () => {
      const router = compileRoutes(routes, prefix);
      for (const there of route.sets_also ?? []) {
        const path = there.path.slice(prefix.length).replaceAll(/\{\w+\+?\}/g, 'a');
        const found = router.find(path)?.routes;
        // A list is read as well, of old.
        const other = found?.[route.method] ?? found?.LIST;
        assert.ok(other, `${there.path} is no endpoint`);
        for (const field of [...there.fields, ...(there.when ?? [])]) {
          assert.ok(field in route.input.shape, `${route.id} has no ${field}`);
        }
        for (const field of there.fields) {
          assert.ok(field in other.input.shape, `${other.id} has no ${field}`);
        }
      }
    });
  }
}

/**
 * Endpoints whose fields another one has, too, without setting the same by them: by ids, what the one
 * is, what the other is, and why.
 */
const OTHERS: [one: RegExp, other: RegExp, why: string][] = [
  [
    /^mounts-write$/,
    /^auth-write$|^mounts-auth-write$|^auditing-/,
    'neither ways to log in nor audit devices are secret engines',
  ],
  [
    /^auth-write$|^mounts-auth-write$/,
    /^mounts-write$|^auditing-/,
    'neither secret engines nor audit devices are ways to log in',
  ],
  [
    /^auth-write$/,
    /^mounts-auth-write$/,
    'sys/mounts is denied to those who may administrate ways to log in and nothing else',
  ],
  [/^query-token/, /^query-token-self/, 'another token is asked about'],
  [/-(renew|revoke)-lease$/, /^leases-look-up$/, 'nothing is told of the lease'],
  [
    /-renew-lease(-by-path)?$/,
    /-renew-lease-by-path$/,
    'operations ask at the paths of the lease, see the table above',
  ],
  [
    /-revoke-lease(-by-path|-with-prefix)?$/,
    /-revoke-lease-by-path$/,
    'operations ask at the paths of the lease or prefix, see the table above',
  ],
  [
    /-revoke-lease(-by-path)?$/,
    /-revoke-lease-with-prefix$/,
    'one lease is not all those beneath a path',
  ],
  [
    /(generate|rotate)-root$|(generate|cross-sign)-intermediate$|^pki-(generate|import)-key$/,
    /^pki-(generate|update)-key$/,
    'a new root, or request, has a key of its own; operations ask at the path of the name that it gets',
  ],
  [
    /(generate|cross-sign)-intermediate$/,
    /(generate|cross-sign)-intermediate$/,
    'operations ask at the paths of all of them, where the key is one that is there',
  ],
  [
    /^pki-(root|issuer)-sign-(intermediate|self-issued)$/,
    /^pki-(root|issuer)-sign-(intermediate|self-issued)$/,
    'one goes by the default issuer, the other by that of the path',
  ],
  [
    /^pki-(issuers-import-cert|set-signed-intermediate)$/,
    /^pki-(configure-ca|issuers-import-bundle)$/,
    'no private keys are taken: to finish an intermediate is not to bring an authority',
  ],
  [
    /^pki-import-key$/,
    /^pki-(configure-ca|issuers-import-bundle)$/,
    'a key by itself is no authority',
  ],
  [
    /^pki-(issuer-)?(issue|sign)-with-role$/,
    /^pki-(issuer-)?(issue|sign)-with-role$/,
    'one goes by the issuer of the role, the other by that of the path',
  ],
  [
    /^pki-(issuer-)?sign-verbatim(-with-role)?$/,
    /^pki-(issuer-)?sign-verbatim(-with-role)?$/,
    'the issuer is that of the path, of its role or the default one',
  ],
  [
    /^pki-(issuer-)?(issue-with-(cel-)?role|sign-with-(cel-)?role|sign-verbatim(-with-role)?)$/,
    /^pki-(issuer-)?external-policy-/,
    'a service decides there, and no role',
  ],
  [
    /^pki-(issuer-)?(issue|sign)-with-role$/,
    /^pki-(issue|sign)-with-cel-role$/,
    'roles that are programs are others',
  ],
  [
    /^pki-test-(cel-)?role$/,
    /^pki-issuer-sign-with-role$|-with-cel-role$|^pki-test-cel-role$|external-policy-/,
    'tells what one role would let be issued, and issues nothing',
  ],
  [
    /^pki-(issuer-)?external-policy-/,
    /^pki-(issuer-)?external-policy-/,
    'the service is told which, and operations ask at the path of the issuer that it names',
  ],
  [/^pki-(configure-issuers|replace-root)$/, /^pki-configure-keys$/, 'an issuer is no key'],
  [/^pki-configure-keys$/, /^pki-replace-root$/, 'a key is no issuer'],
  [
    /^pki-revoke(-with-key)?$/,
    /^pki-revoke-issuer$/,
    'a certificate is revoked; as an issuer it signs on, which only the other one ends',
  ],
  [/^pki-revoke-with-key$/, /^pki-revoke$/, 'revokes what one has the key of, and nothing else'],
  [
    /^(entity-(create|update)|group-(create|update))/,
    /^(entity|group)-update-(alias-)?by-/,
    'operations ask at the paths of what is named, see named-conditions',
  ],
  [/^entity-/, /^group-/, 'an entity is no group'],
  [/^group-/, /^entity-/, 'a group is no entity'],
  [
    /^token-create/,
    /^token-create-against-role$/,
    'a role says by itself what tokens are made by it',
  ],
  [/^token-create-against-role$/, /^token-create$/, 'the role allows what the caller has not'],
  [/^token-create-orphan$/, /^token-create$/, 'what has no parent is no child'],
  [
    /^token-(renew|revoke)/,
    /^token-look-up/,
    'the token is not told of, or only what renewing changes of it',
  ],
  [/^token-(look-up|renew)/, /^token-revoke/, 'what is looked up or renewed goes on living'],
  [
    /^token-renew/,
    /^token-renew-self$/,
    'a right to any token, and one that everybody has to the own one',
  ],
  [
    /^token-revoke(-orphan)?$/,
    /^token-revoke(-orphan)?$/,
    'one ends the children, the other one lets them live on',
  ],
  [
    /^(auth|mounts|mounts-auth)-(read|disable)$/,
    /^(auth|mounts|mounts-auth)-(read|disable)$/,
    'secret engines are no ways to log in, which are unmounted beneath sys/auth alone',
  ],
  [
    /^rekey-.*backup/,
    /^rekey-.*backup/,
    'one is the backup of shares, the other of recovery shares',
  ],
  [
    /^app-role-(destroy|write-custom)-secret-id/,
    /^app-role-look-up-secret-id/,
    'nothing is told of the secret ID',
  ],
  [
    /^app-role-(look-up|write-custom)-secret-id/,
    /^app-role-destroy-secret-id/,
    'the secret ID lives on, or begins to',
  ],
];

/** Names of the fields of a request's body, by the present one of each. */
function fieldsOf({ input, path, old_names = {} }: AnyRoute): Set<string> {
  const names = Object.keys(input.shape).filter(
    (name) => !/\{/.test(path) || !new RegExp(`\\{${name}\\+?\\}`).test(path),
  );
  return new Set(names.map((name) => old_names[name] ?? name));
}

const isWriting = ({ method }: AnyRoute): boolean => method === 'POST' || method === 'PATCH';

/** Whether one endpoint sets all that another one has fields for. */
function setsPart(one: AnyRoute, other: AnyRoute): boolean {
  const fields = fieldsOf(other);
  return isWriting(one) && isWriting(other) && fields.size > 0 && fields.isSubsetOf(fieldsOf(one));
}

/** Whether two endpoints do the same, with or without fields: by what is run, or by what they are said to do. */
const isSame = (one: AnyRoute, other: AnyRoute): boolean =>
  one.method === other.method && (one.run === other.run || one.summary === other.summary);

for (const [name, , routes] of ENGINES) {
  test(`${name}: whatever one endpoint sets of what another is for is declared, or is something else`, () => {
    const asked = routes.filter(({ access }) => access !== 'public');
    const undeclared = asked.flatMap((one) =>
      asked
        .filter((other) => {
          const isPart = isSame(one, other) || setsPart(one, other);
          const isDeclared = one.sets_also?.some(({ path }) => path === other.path) ?? false;
          return other.path !== one.path && isPart && !isDeclared;
        })
        .filter(({ id }) => !OTHERS.some(([a, b]) => a.test(one.id) && b.test(id)))
        .map(({ id }) => `${one.id} and ${id}`),
    );
    assert.deepEqual(undeclared, []);
  });
}
