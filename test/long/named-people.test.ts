// People and groups that a body names, or by which something is found, have paths of their own: by id
// and by name. A denial of one of them is a denial wherever else they are named.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAliasById, updateAlias } from '../../src/access/identity/aliases.store.ts';
import { bumpPermissionVersion } from '../../src/store/permission-version.ts';
import { deny, personWith } from '../support/denied.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { startBroker } from '../support/seeded-broker.ts';
import type { Client } from '../support/server.ts';

/** An entity, and the alias it has. */
interface Someone {
  id: string;
  name: string;
  alias_id: string;
  alias_name: string;
}

/** Somebody or a group that is denied, and another that is not. */
interface Pair {
  denied: Someone;
  other: Someone;
}

interface World {
  accessor: string;
  /** Of a mount that knows nobody yet. */
  blank: string;
  people: Pair;
  groups: Pair;
  /** Groups without an alias. */
  inner: Pair;
}

type Request = [method: string, path: string, body?: object];
type What = 'people' | 'groups' | 'inner';
type Own = 'id' | 'name' | 'alias_id';

const ENTITY = {
  id: ({ id }: Someone) => `identity/entity/id/${id}`,
  name: ({ name }: Someone) => `identity/entity/name/${name}`,
  alias_id: ({ alias_id }: Someone) => `identity/entity-alias/id/${alias_id}`,
};
const GROUP = {
  id: ({ id }: Someone) => `identity/group/id/${id}`,
  name: ({ name }: Someone) => `identity/group/name/${name}`,
  alias_id: ({ alias_id }: Someone) => `identity/group-alias/id/${alias_id}`,
};
const PATHS = { people: ENTITY, groups: GROUP, inner: GROUP };

/** A request that names somebody, and which of their own paths a denial is looked for at. */
const REQUESTS: [
  what: string,
  of: What,
  deniedAt: Own[],
  request: (named: Someone, world: World) => Request,
][] = [
  ['an entity looked up by id', 'people', ['id', 'name'], ({ id }) => look('entity', { id })],
  [
    'an entity looked up by name',
    'people',
    ['id', 'name'],
    ({ name }) => look('entity', { name: name.toUpperCase() }),
  ],
  [
    'an entity looked up by the id of its alias',
    'people',
    ['id', 'name', 'alias_id'],
    ({ alias_id }) => look('entity', { alias_id }),
  ],
  [
    'an entity looked up by its alias',
    'people',
    ['id', 'name', 'alias_id'],
    ({ alias_name }, { accessor }) =>
      look('entity', { alias_name, alias_mount_accessor: accessor }),
  ],
  [
    'an entity changed by the id in the body',
    'people',
    ['id', 'name'],
    ({ id }) => ['POST', 'identity/entity', { id, metadata: { a: 'b' } }],
  ],
  [
    'an entity changed by the name in the body',
    'people',
    ['id', 'name'],
    ({ name }) => ['POST', 'identity/entity', { name, metadata: { a: 'b' } }],
  ],
  [
    'entities deleted together',
    'people',
    ['id', 'name'],
    ({ id }) => ['POST', 'identity/entity/batch-delete', { entity_ids: [id] }],
  ],
  [
    'an alias found by its name',
    'people',
    ['alias_id', 'id', 'name'],
    ({ alias_name }, { accessor }) => [
      'POST',
      'identity/entity-alias',
      { name: alias_name.toUpperCase(), mount_accessor: accessor, custom_metadata: { a: 'b' } },
    ],
  ],
  [
    'an alias by the id in the body',
    'people',
    ['alias_id', 'id', 'name'],
    ({ alias_id }) => [
      'POST',
      'identity/entity-alias',
      { id: alias_id, custom_metadata: { a: 'b' } },
    ],
  ],
  [
    'whoever has an alias that gets another name, by the id in the body',
    'people',
    ['alias_id', 'id', 'name'],
    ({ alias_id: id }) => ['POST', 'identity/entity-alias', { id, name: `renamed-${id}` }],
  ],
  [
    'whoever has an alias that gets another name, at its path',
    'people',
    ['id', 'name'],
    ({ alias_id }) => ['POST', aliasPath('entity', alias_id), { name: `moved-${alias_id}` }],
  ],
  [
    'whoever has an alias that becomes one of another mount',
    'people',
    ['id', 'name'],
    ({ alias_id }, { blank }) => ['POST', aliasPath('entity', alias_id), { mount_accessor: blank }],
  ],
  [
    'whoever has an alias that only gets metadata',
    'people',
    ['id', 'name'],
    ({ alias_id }) => ['POST', aliasPath('entity', alias_id), { custom_metadata: { a: 'b' } }],
  ],
  [
    'whoever has an alias that is written as it is',
    'people',
    ['id', 'name'],
    ({ alias_id }) => ['POST', aliasPath('entity', alias_id), {}],
  ],
  [
    'whoever has an alias that is removed',
    'people',
    ['id', 'name'],
    ({ alias_id }) => ['DELETE', aliasPath('entity', alias_id)],
  ],
  [
    'the entity that gets an alias',
    'people',
    ['id', 'name'],
    ({ id, name }, { blank }) => [
      'POST',
      'identity/entity-alias',
      { name: `for-${name}`, mount_accessor: blank, canonical_id: id },
    ],
  ],
  [
    'the members of a group',
    'people',
    ['id', 'name'],
    ({ id, name }) => ['POST', 'identity/group', { name: `of-${name}`, member_entity_ids: [id] }],
  ],
  ['a group looked up by id', 'groups', ['id', 'name'], ({ id }) => look('group', { id })],
  [
    'a group looked up by name',
    'groups',
    ['id', 'name'],
    ({ name }) => look('group', { name: name.toUpperCase() }),
  ],
  [
    'a group looked up by the id of its alias',
    'groups',
    ['id', 'name', 'alias_id'],
    ({ alias_id }) => look('group', { alias_id }),
  ],
  [
    'a group looked up by its alias',
    'groups',
    ['id', 'name', 'alias_id'],
    ({ alias_name }, { accessor }) => look('group', { alias_name, alias_mount_accessor: accessor }),
  ],
  [
    'a group changed by the id in the body',
    'groups',
    ['id', 'name'],
    ({ id }) => ['POST', 'identity/group', { id, metadata: { a: 'b' } }],
  ],
  [
    'a group changed by the name in the body',
    'groups',
    ['id', 'name'],
    ({ name }) => ['POST', 'identity/group', { name, metadata: { a: 'b' } }],
  ],
  [
    'an alias of a group found by its name',
    'groups',
    ['alias_id', 'id', 'name'],
    ({ id, alias_name }, { accessor }) => [
      'POST',
      'identity/group-alias',
      { name: alias_name, mount_accessor: accessor, canonical_id: id },
    ],
  ],
  [
    'an alias of a group by the id in the body',
    'groups',
    ['alias_id', 'id', 'name'],
    ({ alias_id, alias_name }) => [
      'POST',
      'identity/group-alias',
      { id: alias_id, name: alias_name },
    ],
  ],
  [
    'the group of an alias that gets another name, at its path',
    'groups',
    ['id', 'name'],
    ({ alias_id }) => ['POST', aliasPath('group', alias_id), { name: `moved-${alias_id}` }],
  ],
  [
    'the group of an alias that is removed',
    'groups',
    ['id', 'name'],
    ({ alias_id }) => ['DELETE', aliasPath('group', alias_id)],
  ],
  [
    'the group that gets an alias',
    'groups',
    ['id', 'name'],
    ({ id, alias_id, alias_name }) => [
      'POST',
      'identity/group-alias',
      { id: alias_id, name: alias_name, canonical_id: id },
    ],
  ],
  [
    'the groups in a group',
    'inner',
    ['id', 'name'],
    ({ id, name }) => ['POST', 'identity/group', { name: `over-${name}`, member_group_ids: [id] }],
  ],
];

const aliasPath = (kind: 'entity' | 'group', id: string): string =>
  `identity/${kind}-alias/id/${id}`;

const look = (kind: 'entity' | 'group', body: object): Request => [
  'POST',
  `identity/lookup/${kind}`,
  body,
];

let made = 0;

async function make(client: Client, path: string, body: object): Promise<string> {
  const reply = await client.call('POST', path, body);
  const id = reply.textAt('data.id');
  assert.notEqual(id, '', reply.text);
  return id;
}

async function makeSomeone(client: Client, what: What, accessor: string): Promise<Someone> {
  made += 1;
  const name = `one-${made}`;
  const alias_name = `known-as-${made}`;
  const [thing, alias] = what === 'people' ? ['entity', 'entity-alias'] : ['group', 'group-alias'];
  const type = what === 'groups' ? { type: 'external' } : {};
  const id = await make(client, `identity/${thing}`, { name, ...type });
  const named = { name: alias_name, mount_accessor: accessor, canonical_id: id };
  const alias_id = what === 'inner' ? '' : await make(client, `identity/${alias}`, named);
  return { id, name, alias_id, alias_name };
}

async function makeWorld(client: Client, accessors: Pick<World, 'accessor' | 'blank'>, of: What) {
  const { accessor } = accessors;
  const pair = async (what: What): Promise<Pair> => ({
    denied: await makeSomeone(client, what, accessor),
    other: await makeSomeone(client, what, accessor),
  });
  const one = await pair(of);
  return { ...accessors, people: one, groups: one, inner: one } satisfies World;
}

async function makeMounts(client: Client): Promise<Pick<World, 'accessor' | 'blank'>> {
  for (const path of ['known', 'blank']) {
    await client.call('POST', `sys/auth/${path}`, { type: 'userpass' });
  }
  const mounts = await client.call('GET', 'sys/auth');
  const accessorOf = (path: string): string => mounts.textAt(`data.${path}/.accessor`);
  return { accessor: accessorOf('known'), blank: accessorOf('blank') };
}

/** Gives an alias to another. Of entities as another node does: on one node this waits for what ends log-ins by the alias. */
async function giveAlias(
  { call, running }: Client,
  kind: 'entity' | 'group',
  { alias_id, to }: { alias_id: string; to: string },
): Promise<void> {
  if (kind === 'group') {
    const given = await call('POST', 'identity/group-alias', { id: alias_id, canonical_id: to });
    assert.equal(given.status, 200, given.text);
    return;
  }
  const { db, store } = running.app;
  const alias = await findAliasById(db, alias_id);
  assert.ok(alias);
  const next = { ...alias, entity_id: to, moves: alias.moves + 1 };
  await store.commit([updateAlias(next, alias), ...bumpPermissionVersion()]);
}

eachPlace('people and groups that a body names', (newPlace) => {
  test('are denied where a path of their own is, and no others are', async (t) => {
    const { client } = await startBroker(t, { place: await newPlace() });
    const accessors = await makeMounts(client);
    const free = await personWith(client, 'free', '');
    for (const [what, of, owns, request] of REQUESTS) {
      for (const own of owns) {
        const world = await makeWorld(client, accessors, of);
        const { denied, other } = world[of];
        const ask = await personWith(client, `but-${made}`, deny(PATHS[of][own](denied)));
        const told = `${what}, denied by its ${own}`;
        const status = await ask(...request(other, world));
        assert.ok(status < 300, `${told}: the other ${status}`);
        assert.equal(await ask(...request(denied, world)), 403, told);
        const undenied = await free(...request(denied, world));
        assert.ok(undenied < 300, `${told}: without the denial ${undenied}`);
      }
    }
  });

  test('are denied under a name that is denied, also where it is a new one', async (t) => {
    const { client } = await startBroker(t, { place: await newPlace() });
    const accessors = await makeMounts(client);
    const free = await personWith(client, 'free', '');
    for (const [of, kind] of [
      ['people', 'entity'],
      ['inner', 'group'],
    ] as const) {
      const ask = await personWith(client, `no-${kind}`, deny(`identity/${kind}/name/Chief`));
      const requests: [what: string, (id: string, name: string) => Request][] = [
        ['made', (_, name) => ['POST', `identity/${kind}`, { name }]],
        ['at its id', (id, name) => ['POST', `identity/${kind}/id/${id}`, { name }]],
        ['by its id in the body', (id, name) => ['POST', `identity/${kind}`, { id, name }]],
      ];
      for (const [what, request] of requests) {
        const { other } = (await makeWorld(client, accessors, of))[of];
        assert.equal(await ask(...request(other.id, 'CHIEF')), 403, `${kind} ${what}`);
        const near = await ask(...request(other.id, `chief-of-${made}`));
        assert.ok(near < 300, `${kind} ${what}: another name ${near}`);
        const undenied = await free(...request(other.id, 'chief'));
        assert.ok(undenied < 300, `${kind} ${what}: without the denial ${undenied}`);
        await client.call('DELETE', `identity/${kind}/name/chief`);
      }
    }
  });

  test('are denied where an alias is taken from them', async (t) => {
    const { client } = await startBroker(t, { place: await newPlace() });
    const accessors = await makeMounts(client);
    const takes: [
      what: string,
      of: 'people' | 'groups',
      request: (from: Someone, to: Someone) => Request,
    ][] = [
      [
        'entity',
        'people',
        (from, { id }) => [
          'POST',
          `identity/entity-alias/id/${from.alias_id}`,
          { canonical_id: id },
        ],
      ],
      [
        'group',
        'groups',
        (from, { id }) => [
          'POST',
          `identity/group-alias/id/${from.alias_id}`,
          { canonical_id: id },
        ],
      ],
    ];
    for (const [what, of, request] of takes) {
      for (const own of ['id', 'name'] as const) {
        const { denied, other } = (await makeWorld(client, accessors, of))[of];
        const { denied: to } = (await makeWorld(client, accessors, of))[of];
        // Whoever has an alias of the mount takes no second one.
        await client.call('DELETE', PATHS[of].alias_id(to));
        const ask = await personWith(client, `keeps-${made}`, deny(PATHS[of][own](denied)));
        assert.equal(await ask(...request(denied, to)), 403, `${what} by ${own}`);
        const status = await ask(...request(other, to));
        assert.ok(status < 300, `${what} by ${own}: the other ${status}`);
      }
    }
  });

  test('are denied where they leave a group because they are not named', async (t) => {
    const holder = new CommitHolder();
    const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
    const accessors = await makeMounts(client);
    for (const [of, field] of [
      ['people', 'member_entity_ids'],
      ['inner', 'member_group_ids'],
    ] as const) {
      for (const own of ['id', 'name'] as const) {
        const { denied, other } = (await makeWorld(client, accessors, of))[of];
        const name = `around-${made}`;
        const path = `identity/group/name/${name}`;
        const write = (members?: Someone[]): Request => [
          'POST',
          path,
          members ? { [field]: members.map(({ id }) => id) } : { metadata: { a: 'b' } },
        ];
        const ask = await personWith(client, `group-${made}`, deny(PATHS[of][own](denied)));
        await client.call(...write([denied, other]));
        assert.equal(await ask(...write([])), 403, `${of} by ${own}`);
        assert.equal(await ask(...write([other])), 403, `${of} by ${own}, others stay`);
        const left = await client.call('GET', path);
        assert.equal((left.field(`data.${field}`) as unknown[]).length, 2);
        assert.ok((await ask(...write())) < 300, `${of} by ${own}: members are not spoken of`);
        await client.call(...write([other]));
        const held = holder.hold(path);
        const asked = ask(...write([]));
        await Promise.race([held.reached, asked]);
        await client.call(...write([denied, other])).finally(held.letGo);
        assert.equal(await asked, 403, `${of} by ${own}: it came meanwhile`);
        await client.call(...write([other]));
        assert.ok((await ask(...write([]))) < 300, `${of} by ${own}: another one leaves`);
      }
    }
  });

  test('are denied where they get an alias while it is being changed or removed', async (t) => {
    const holder = new CommitHolder();
    const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
    const accessors = await makeMounts(client);
    const changes: [kind: 'entity' | 'group', method: string, body?: object][] = [
      ['entity', 'POST', { name: 'mine' }],
      ['entity', 'POST', { custom_metadata: { a: 'b' } }],
      ['entity', 'DELETE'],
      ['group', 'POST', { name: 'ours' }],
      ['group', 'DELETE'],
    ];
    for (const [kind, method, body] of changes) {
      const of = kind === 'entity' ? 'people' : 'groups';
      const { denied, other } = (await makeWorld(client, accessors, of))[of];
      await client.call('DELETE', PATHS[of].alias_id(denied));
      const path = PATHS[of].alias_id(other);
      const ask = await personWith(client, `taking-${made}`, deny(PATHS[of].id(denied)));
      const held = holder.hold(path);
      const asked = ask(method, path, body);
      await Promise.race([held.reached, asked]);
      const told = `${kind} ${method} ${JSON.stringify(body)}`;
      await giveAlias(client, kind, { alias_id: other.alias_id, to: denied.id }).finally(
        held.letGo,
      );
      assert.equal(await asked, 403, told);
      const left = await client.call('GET', path);
      assert.equal(left.textAt('data.canonical_id'), denied.id, told);
      assert.equal(left.textAt('data.name'), other.alias_name, told);
    }
  });

  test('are denied by a denial that comes while the request is under way', async (t) => {
    const holder = new CommitHolder();
    const { client } = await startBroker(t, { place: await newPlace(), store: holder.over });
    const accessors = await makeMounts(client);
    const late: [of: What, path: string, own: Own, request: (one: Someone) => Request][] = [
      ['people', 'identity/entity', 'id', ({ name }) => ['POST', 'identity/entity', { name }]],
      [
        'people',
        'identity/group',
        'name',
        ({ id }) => ['POST', 'identity/group', { name: 'late', member_entity_ids: [id] }],
      ],
      [
        'people',
        'identity/entity-alias',
        'alias_id',
        ({ alias_name }) => [
          'POST',
          'identity/entity-alias',
          { name: alias_name, mount_accessor: accessors.accessor },
        ],
      ],
      [
        'groups',
        'identity/group-alias',
        'name',
        ({ alias_name, id }) => [
          'POST',
          'identity/group-alias',
          { name: alias_name, mount_accessor: accessors.accessor, canonical_id: id },
        ],
      ],
    ];
    for (const [of, path, own, request] of late) {
      const { denied } = (await makeWorld(client, accessors, of))[of];
      const ask = await personWith(client, `late-${made}`, '');
      const held = holder.hold(path);
      const asked = ask(...request(denied));
      await Promise.race([held.reached, asked]);
      const narrowed = personWith(client, `late-${made}`, deny(PATHS[of][own](denied)));
      await narrowed.finally(held.letGo);
      assert.equal(await asked, 403, `${path} by ${own}`);
    }
  });
});
