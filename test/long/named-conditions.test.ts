// What a request names in its body has paths of its own: what the conditions there would refuse is
// refused wherever else the thing is named.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuUntil } from '../support/cpu-time.ts';
import { personWith } from '../support/denied.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { holdBounds } from '../support/machine.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** Ids of what the requests name. */
interface World {
  boss: string;
  clerk: string;
  ops: string;
  alias: string;
  accessor: string;
  group_alias: string;
  issuer: string;
}

type Place = (world: World) => string;
type Body = (world: World) => object;
type Case = [conditions: string, body: Body, status: number];

/** A request by its body, where the thing that it names has a path, and what conditions there come to. */
const TABLES: [what: string, path: string, own: Place, cases: Case[]][] = [
  [
    'an entity by the id in the body',
    'identity/entity',
    ({ boss }) => `identity/entity/id/${boss}`,
    [
      ['denied_parameters = { "policies" = [] }', ({ boss: id }) => ({ id, policies: ['x'] }), 403],
      ['denied_parameters = { "policies" = [] }', ({ boss: id }) => ({ id, metadata: {} }), 204],
      ['denied_parameters = { "policies" = [] }', ({ clerk: id }) => ({ id, policies: [] }), 204],
      [
        'denied_parameters = { "policies" = ["x"] }',
        ({ boss: id }) => ({ id, policies: 'y,X' }),
        403,
      ],
      [
        'denied_parameters = { "policies" = ["x"] }',
        ({ boss: id }) => ({ id, policies: 'y' }),
        204,
      ],
      [
        'denied_parameters = { "disabled" = [true] }',
        ({ boss: id }) => ({ id, disabled: 't' }),
        403,
      ],
      ['denied_parameters = { "disabled" = [true] }', ({ boss: id }) => ({ id, disabled: 0 }), 204],
      ['denied_parameters = { "name" = [] }', ({ boss: id }) => ({ id, name: 'boss' }), 403],
      ['denied_parameters = { "id" = [] }', ({ boss: id }) => ({ id, policies: [] }), 204],
      ['allowed_parameters = { "metadata" = [] }', ({ boss: id }) => ({ id, policies: [] }), 403],
      ['allowed_parameters = { "metadata" = [] }', ({ boss: id }) => ({ id, metadata: {} }), 204],
      [
        'allowed_parameters = { "policies" = ["x"] }',
        ({ boss: id }) => ({ id, policies: ['y'] }),
        403,
      ],
      [
        'allowed_parameters = { "policies" = ["x"] }',
        ({ boss: id }) => ({ id, policies: ['x'] }),
        204,
      ],
      ['required_parameters = ["metadata"]', ({ boss: id }) => ({ id, policies: [] }), 403],
      ['required_parameters = ["metadata"]', ({ boss: id }) => ({ id, metadata: { a: 'b' } }), 204],
      ['min_wrapping_ttl = "60s"', ({ boss: id }) => ({ id, policies: [] }), 403],
      ['max_wrapping_ttl = "60s"', ({ boss: id }) => ({ id, policies: [] }), 403],
      ['min_wrapping_ttl = "60s"', ({ clerk: id }) => ({ id, policies: [] }), 204],
    ],
  ],
  [
    'an entity by the name in the body, by the conditions at its id',
    'identity/entity',
    ({ boss }) => `identity/entity/id/${boss}`,
    [
      ['denied_parameters = { "policies" = [] }', () => ({ name: 'BOSS', policies: ['x'] }), 403],
      ['denied_parameters = { "policies" = [] }', () => ({ name: 'boss', metadata: {} }), 204],
      // It is not renamed.
      ['denied_parameters = { "name" = [] }', () => ({ name: 'boss', metadata: {} }), 204],
      ['allowed_parameters = { "metadata" = [] }', () => ({ name: 'boss', metadata: {} }), 204],
      ['allowed_parameters = { "metadata" = [] }', () => ({ name: 'boss', policies: [] }), 403],
    ],
  ],
  [
    'an entity by the id in the body, by the conditions at its name',
    'identity/entity',
    () => 'identity/entity/name/Boss',
    [
      ['denied_parameters = { "policies" = [] }', ({ boss: id }) => ({ id, policies: ['x'] }), 403],
      ['denied_parameters = { "policies" = [] }', ({ boss: id }) => ({ id, metadata: {} }), 204],
    ],
  ],
  [
    'an entity that gets a name',
    'identity/entity',
    () => 'identity/entity/name/chief',
    [
      [
        'denied_parameters = { "policies" = [] }',
        ({ clerk: id }) => ({ id, name: 'chief', policies: ['x'] }),
        403,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ clerk: id }) => ({ id, name: 'other', policies: ['x'] }),
        204,
      ],
    ],
  ],
  [
    'an entity that is looked up',
    'identity/lookup/entity',
    ({ boss }) => `identity/entity/id/${boss}`,
    [
      ['min_wrapping_ttl = "60s"', ({ boss: id }) => ({ id }), 403],
      ['min_wrapping_ttl = "60s"', () => ({ name: 'boss' }), 403],
      ['min_wrapping_ttl = "60s"', ({ clerk: id }) => ({ id }), 200],
      ['required_parameters = ["reason"]', ({ boss: id }) => ({ id }), 403],
      ['required_parameters = ["reason"]', ({ boss: id }) => ({ id, reason: 'x' }), 200],
      ['allowed_parameters = { "policies" = [] }', ({ boss: id }) => ({ id }), 200],
      ['denied_parameters = { "policies" = [] }', ({ boss: id }) => ({ id }), 200],
    ],
  ],
  [
    'a group by the name in the body',
    'identity/group',
    ({ ops }) => `identity/group/id/${ops}`,
    [
      [
        'denied_parameters = { "member_entity_ids" = [] }',
        ({ boss }) => ({ name: 'ops', member_entity_ids: [boss] }),
        403,
      ],
      [
        'denied_parameters = { "member_entity_ids" = [] }',
        () => ({ name: 'ops', metadata: {} }),
        200,
      ],
      [
        'denied_parameters = { "member_entity_ids" = [] }',
        ({ boss }) => ({ name: 'others', member_entity_ids: [boss] }),
        200,
      ],
    ],
  ],
  [
    'a member of a group',
    'identity/group',
    ({ boss }) => `identity/entity/id/${boss}`,
    [
      [
        'denied_parameters = { "policies" = [] }',
        ({ boss }) => ({ name: 'g', member_entity_ids: [boss], policies: ['x'] }),
        403,
      ],
      [
        'allowed_parameters = { "metadata" = [] }',
        ({ boss }) => ({ name: 'g', member_entity_ids: [boss], policies: ['x'] }),
        403,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ boss }) => ({ name: 'g', member_entity_ids: [boss] }),
        200,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ clerk }) => ({ name: 'g', member_entity_ids: [clerk], policies: ['x'] }),
        200,
      ],
      // A group's own name and metadata are not its member's.
      [
        'denied_parameters = { "name" = [] "metadata" = [] }',
        ({ boss }) => ({ name: 'g', member_entity_ids: [boss], metadata: { a: 'b' } }),
        200,
      ],
      ['max_wrapping_ttl = "60s"', ({ boss }) => ({ name: 'g', member_entity_ids: [boss] }), 403],
    ],
  ],
  [
    'a member of a group, by the conditions at its name',
    'identity/group',
    () => 'identity/entity/name/boss',
    [
      [
        'denied_parameters = { "policies" = [] }',
        ({ boss }) => ({ name: 'h', member_entity_ids: [boss], policies: ['x'] }),
        403,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ clerk }) => ({ name: 'h', member_entity_ids: [clerk], policies: ['x'] }),
        200,
      ],
    ],
  ],
  [
    'a group within a group',
    'identity/group',
    ({ ops }) => `identity/group/id/${ops}`,
    [
      [
        'denied_parameters = { "policies" = [] }',
        ({ ops }) => ({ name: 'k', member_group_ids: [ops], policies: ['x'] }),
        403,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ ops }) => ({ name: 'k', member_group_ids: [ops] }),
        200,
      ],
    ],
  ],
  [
    'an alias by its name on its mount',
    'identity/entity-alias',
    ({ alias }) => `identity/entity-alias/id/${alias}`,
    [
      [
        'denied_parameters = { "custom_metadata" = [] }',
        ({ accessor: mount_accessor }) => ({
          name: 'B',
          mount_accessor,
          custom_metadata: { a: 'b' },
        }),
        403,
      ],
      [
        'denied_parameters = { "custom_metadata" = [] }',
        ({ accessor: mount_accessor }) => ({ name: 'b', mount_accessor }),
        200,
      ],
      [
        'denied_parameters = { "name" = [] }',
        ({ accessor: mount_accessor }) => ({
          name: 'b',
          mount_accessor,
          custom_metadata: { a: 'b' },
        }),
        200,
      ],
      [
        'denied_parameters = { "canonical_id" = [] }',
        ({ accessor: mount_accessor, clerk: canonical_id }) => ({
          name: 'b',
          mount_accessor,
          canonical_id,
        }),
        403,
      ],
    ],
  ],
  [
    'an alias by the id in the body',
    'identity/entity-alias',
    ({ alias }) => `identity/entity-alias/id/${alias}`,
    [
      [
        'denied_parameters = { "custom_metadata" = [] }',
        ({ alias: id }) => ({ id, custom_metadata: { a: 'b' } }),
        403,
      ],
      ['denied_parameters = { "name" = [] }', ({ alias: id }) => ({ id, name: 'b' }), 403],
      [
        'denied_parameters = { "name" = [] }',
        ({ alias: id }) => ({ id, custom_metadata: { a: 'b' } }),
        200,
      ],
    ],
  ],
  [
    'the entity of an alias',
    'identity/entity-alias',
    ({ boss }) => `identity/entity/id/${boss}`,
    [
      [
        'min_wrapping_ttl = "60s"',
        ({ accessor: mount_accessor, boss: canonical_id }) => ({
          name: 'b',
          mount_accessor,
          canonical_id,
        }),
        403,
      ],
      // The alias's name is not the entity's.
      [
        'denied_parameters = { "name" = [] }',
        ({ accessor: mount_accessor, boss: canonical_id }) => ({
          name: 'b',
          mount_accessor,
          canonical_id,
        }),
        200,
      ],
    ],
  ],
  [
    'the group of an alias',
    'identity/group-alias',
    ({ ops }) => `identity/group/id/${ops}`,
    [
      [
        'min_wrapping_ttl = "60s"',
        ({ group_alias: id, ops: canonical_id }) => ({ id, canonical_id }),
        403,
      ],
      [
        'denied_parameters = { "policies" = [] }',
        ({ group_alias: id }) => ({ id, name: 'n' }),
        200,
      ],
    ],
  ],
  [
    'a group alias by the id in the body',
    'identity/group-alias',
    ({ group_alias }) => `identity/group-alias/id/${group_alias}`,
    [
      ['denied_parameters = { "name" = ["n"] }', ({ group_alias: id }) => ({ id, name: 'N' }), 403],
      ['denied_parameters = { "name" = ["n"] }', ({ group_alias: id }) => ({ id, name: 'm' }), 200],
    ],
  ],
  [
    'a lease that is revoked',
    'sys/leases/revoke',
    () => 'sys/leases/revoke/ca/issue/a/1',
    [
      [
        'denied_parameters = { "sync" = [true] }',
        () => ({ lease_id: 'ca/issue/a/1', sync: true }),
        403,
      ],
      ['denied_parameters = { "sync" = [true] }', () => ({ lease_id: 'ca/issue/a/1' }), 204],
      [
        'denied_parameters = { "sync" = [true] }',
        () => ({ lease_id: 'ca/issue/b/1', sync: true }),
        204,
      ],
      ['allowed_parameters = { "reason" = [] }', () => ({ lease_id: 'ca/issue/a/1' }), 204],
      ['required_parameters = ["sync"]', () => ({ lease_id: 'ca/issue/a/1' }), 403],
    ],
  ],
  [
    'a lease that is revoked, by the conditions at the path of old',
    'sys/leases/revoke',
    () => 'sys/revoke/*',
    [
      [
        'denied_parameters = { "sync" = [true] }',
        () => ({ lease_id: 'ca/issue/a/1', sync: true }),
        403,
      ],
      [
        'denied_parameters = { "sync" = [true] }',
        () => ({ lease_id: 'ca/issue/a/1', sync: false }),
        202,
      ],
    ],
  ],
  [
    'leases beneath a prefix, by the conditions at the path of old',
    'sys/leases/revoke-prefix/ca/issue/a',
    () => 'sys/revoke-prefix/ca/*',
    [
      ['denied_parameters = { "sync" = [true] }', () => ({ sync: true }), 403],
      ['denied_parameters = { "sync" = [true] }', () => ({ sync: false }), 202],
      ['allowed_parameters = { "sync" = [] }', () => ({ sync: false }), 202],
    ],
  ],
  [
    'a new root by the name that it gets',
    'ca/root/generate/internal',
    () => 'ca/issuer/prod',
    [
      ['denied_parameters = { "issuer_name" = [] }', () => rootNamed('prod'), 403],
      ['denied_parameters = { "usage" = [] }', () => rootNamed('prod'), 200],
    ],
  ],
  [
    'the issuer of a role',
    'ca/roles/web',
    ({ issuer }) => `ca/issuer/${issuer}`,
    [
      [
        'denied_parameters = { "issuer_ref" = [] }',
        ({ issuer: issuer_ref }) => ({ issuer_ref }),
        403,
      ],
      ['min_wrapping_ttl = "60s"', ({ issuer: issuer_ref }) => ({ issuer_ref }), 403],
      ['denied_parameters = { "usage" = [] }', ({ issuer: issuer_ref }) => ({ issuer_ref }), 200],
      ['allowed_parameters = { "usage" = [] }', ({ issuer: issuer_ref }) => ({ issuer_ref }), 200],
      ['required_parameters = ["usage"]', ({ issuer: issuer_ref }) => ({ issuer_ref }), 200],
      ['min_wrapping_ttl = "60s"', () => ({ issuer_ref: 'default' }), 200],
    ],
  ],
  [
    'the default issuer',
    'ca/config/issuers',
    ({ issuer }) => `ca/issuer/${issuer}`,
    [
      [
        'denied_parameters = { "default_follows_latest_issuer" = [true] }',
        ({ issuer }) => ({ default: issuer, default_follows_latest_issuer: '1' }),
        403,
      ],
      [
        'denied_parameters = { "default_follows_latest_issuer" = [true] }',
        ({ issuer }) => ({ default: issuer }),
        200,
      ],
      ['max_wrapping_ttl = "60s"', ({ issuer }) => ({ default: issuer }), 403],
    ],
  ],
  [
    'a mount that moves',
    'sys/remount',
    () => 'sys/mounts/ca',
    [
      [
        'denied_parameters = { "to" = ["elsewhere"] }',
        () => ({ from: 'ca', to: 'elsewhere/' }),
        403,
      ],
      ['min_wrapping_ttl = "60s"', () => ({ from: 'ca', to: 'elsewhere' }), 403],
      ['denied_parameters = { "description" = [] }', () => ({ from: 'ca', to: 'ca-away' }), 200],
    ],
  ],
];

const rootNamed = (issuer_name: string) => ({
  common_name: 'root',
  issuer_name,
  key_type: 'ec',
  ttl: '24h',
});

async function startWorld(client: Client): Promise<World> {
  const make = async (path: string, body: object): Promise<string> => {
    const reply = await client.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.textAt('data.id') || reply.textAt('data.issuer_id');
  };
  await client.call('POST', 'sys/auth/up', { type: 'userpass' });
  await client.call('POST', 'sys/mounts/ca', { type: 'pki' });
  const mounts = await client.call('GET', 'sys/auth');
  const accessor = String(Reflect.get(Object(mounts.field('data.up/')), 'accessor'));
  const boss = await make('identity/entity', { name: 'boss' });
  const outside = await make('identity/group', { name: 'outside', type: 'external' });
  return {
    boss,
    clerk: await make('identity/entity', { name: 'clerk' }),
    ops: await make('identity/group', { name: 'ops' }),
    accessor,
    alias: await make('identity/entity-alias', {
      name: 'b',
      mount_accessor: accessor,
      canonical_id: boss,
    }),
    group_alias: await make('identity/group-alias', {
      name: 'm',
      mount_accessor: accessor,
      canonical_id: outside,
    }),
    issuer: await make('ca/root/generate/internal', rootNamed('first')),
  };
}

const stanza = (path: string, conditions: string): string =>
  `path "${path}" { capabilities = ["create","read","update","patch","delete"] ${conditions} }`;

for (const [what, path, own, cases] of TABLES) {
  test(`${what}: what the conditions at its own path say`, async (t) => {
    const client = await startTestServer(t);
    for (const [at, [conditions, body, status]] of cases.entries()) {
      const world = await startWorldOnce(client);
      const ask = await personWith(client, `person-${at}`, stanza(own(world), conditions));
      const asked = body(world);
      const told = `${conditions}, ${JSON.stringify(asked)}`;
      assert.equal(await ask('POST', path, asked), status, told);
    }
  });
}

const worlds = new WeakMap<Client, Promise<World>>();

function startWorldOnce(client: Client): Promise<World> {
  const world = worlds.get(client) ?? startWorld(client);
  worlds.set(client, world);
  return world;
}

test('what is asked of every request there is asked here where such requests are granted there', async (t) => {
  const client = await startTestServer(t);
  const world = await startWorld(client);
  const path = `identity/entity/id/${world.boss}`;
  const lookUp = ['POST', 'identity/lookup/entity', { id: world.boss }] as const;
  const write = ['POST', 'identity/entity', { id: world.boss, metadata: {} }] as const;
  const rules: [rule: string, read: number, written: number][] = [
    ['capabilities = ["read"] min_wrapping_ttl = "60s"', 403, 204],
    ['capabilities = ["update"] min_wrapping_ttl = "60s"', 200, 403],
    ['capabilities = ["list"] min_wrapping_ttl = "60s"', 200, 204],
    ['capabilities = ["read"] required_parameters = ["policies"]', 403, 204],
    ['capabilities = ["update"] required_parameters = ["policies"]', 200, 403],
    ['capabilities = ["read"] denied_parameters = { "metadata" = [] }', 200, 403],
    ['capabilities = ["list"]', 200, 204],
    ['capabilities = []', 200, 204],
  ];
  for (const [at, [rule, read, written]] of rules.entries()) {
    const ask = await personWith(client, `asks-${at}`, `path "${path}" { ${rule} }`);
    assert.equal(await ask(...lookUp), read, `looked up under ${rule}`);
    assert.equal(await ask(...write), written, `written under ${rule}`);
  }
});

test('wrapping that is asked for is held against the bounds at the own path', async (t) => {
  const client = await startTestServer(t);
  const { boss: id } = await startWorld(client);
  const policy = `path "identity/lookup/entity" { capabilities = ["update"] }
    ${stanza(`identity/entity/id/${id}`, 'min_wrapping_ttl = "60s" max_wrapping_ttl = "90s"')}`;
  await client.call('PUT', 'sys/policies/acl/wraps', { policy });
  const made = await client.call('POST', 'auth/token/create', { policies: ['wraps'] });
  const token = made.textAt('auth.client_token');
  for (const [ttl, status] of [
    [59, 403],
    [60, 200],
    [90, 200],
    [91, 403],
  ] as const) {
    const headers = { 'x-vault-wrap-ttl': `${ttl}` };
    const reply = await client.call('POST', 'identity/lookup/entity', { id }, { token, headers });
    assert.equal(reply.status, status, `${ttl} s`);
  }
});

test('a thousand members are held against a policy with conditions as one', async (t) => {
  const client = await startTestServer(t);
  const member_entity_ids = Array.from({ length: 1000 }, (_, at) => `${at}`.padStart(36, '0'));
  const policies = Array.from({ length: 1000 }, (_, at) => `policy-${at}`);
  const names = Array.from({ length: 20 }, (_, at) => `"*z${at}"`);
  const conditions = `denied_parameters = { "policies" = [${names}] }`;
  const ask = await personWith(client, 'many', stanza('identity/entity/*', conditions));
  const body = { name: 'g', member_entity_ids, policies };
  const request = (): Promise<number> =>
    cpuUntil(async () => {
      assert.equal(await ask('POST', 'identity/group', body), 400, 'nobody has these ids');
    });
  await holdBounds({ request: 500 }, async () => ({ request: await request() }));
});

test('what is too much to judge is refused with a word for it, at every list of things', async (t) => {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/mounts/ca', { type: 'pki' });
  const root = { common_name: 'x', key_type: 'ec', issuer_name: 'own', ttl: '24h' };
  await client.call('POST', 'ca/root/generate/internal', root);
  const ids = Array.from({ length: 1000 }, (_, at) => `i${at}`);
  const slots = ids.map((id) => `{{identity.entity.metadata.${id}}}x${id}`);
  const unfilled = (place: string): string =>
    slots.map((slot) => `path "${place}/${slot}" { capabilities = ["deny"] }`).join('\n');
  const requests: [place: string, ask: readonly [method: string, path: string, body: object]][] = [
    ['identity/entity/id', ['POST', 'identity/group', { name: 'a', member_entity_ids: ids }]],
    ['identity/group/id', ['POST', 'identity/group', { name: 'b', member_group_ids: ids }]],
    ['identity/entity/id', ['POST', 'identity/entity/batch-delete', { entity_ids: ids }]],
  ];
  for (const [at, [place, request]] of requests.entries()) {
    const policy = `path "*" { capabilities = ["update", "delete"] }\n${unfilled(place)}`;
    await client.call('PUT', `sys/policies/acl/slots-${at}`, { policy });
    const made = await client.call('POST', 'auth/token/create', { policies: [`slots-${at}`] });
    const reply = await client.call(...request, { token: made.textAt('auth.client_token') });
    assert.equal(reply.status, 403, place);
    assert.match(reply.text, /takes too long to judge/);
  }
  const long = { manual_chain: ids };
  const ask = await personWith(client, 'chains', '');
  assert.equal(await ask('PATCH', 'ca/issuer/own', long), 400, 'longer than any chain may be');
});

eachPlace(
  'a condition that comes while a thing that a body names is about to be changed',
  (newPlace) => {
    test('refuses it', async (t) => {
      const holder = new CommitHolder();
      const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
      const made = await client.call('POST', 'identity/entity', { name: 'boss' });
      const id = made.textAt('data.id');
      const ask = await personWith(client, 'but', '');
      const held = holder.hold('identity/entity');
      const asked = ask('POST', 'identity/entity', { id, policies: ['admin'] });
      await Promise.race([held.reached, asked]);
      const rule = stanza(`identity/entity/id/${id}`, 'denied_parameters = { "policies" = [] }');
      await personWith(client, 'but', rule).finally(held.letGo);
      assert.equal(await asked, 403);
      const left = await client.call('GET', `identity/entity/id/${id}`);
      assert.deepEqual(left.field('data.policies'), []);
    });
  },
);

eachPlace('a condition that comes while a mount is about to be moved', (newPlace) => {
  test('refuses it by what the mount is', async (t) => {
    const holder = new CommitHolder();
    const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
    await client.call('POST', 'sys/mounts/ca', { type: 'pki' });
    const ask = await personWith(client, 'but', '');
    const held = holder.hold('sys/remount');
    const asked = ask('POST', 'sys/remount', { from: 'ca', to: 'away' });
    await Promise.race([held.reached, asked]);
    const rule = stanza('sys/mounts/away', 'denied_parameters = { "type" = ["pki"] }');
    await personWith(client, 'but', rule).finally(held.letGo);
    assert.equal(await asked, 403);
    assert.equal((await client.call('GET', 'sys/mounts/ca')).status, 200);
  });
});
