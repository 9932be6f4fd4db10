// Two requests at once that change people, groups and what they are called: what was acknowledged stays.

import assert from 'node:assert/strict';
import {
  type Answered,
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';

type Request = [method: string, path: string, body?: object];

/** Somewhere of its own in the identity store, with names that nothing else has. */
interface Place {
  /** A name that is this test's, by a word. */
  named(word: string): string;
  /** Makes something, and says its id. */
  make(path: string, body: object): Promise<string>;
  get(path: string): ReturnType<Bench['maker']['call']>;
  field(path: string, field: string): Promise<unknown>;
  /** What a way to log in calls somebody. */
  aliasesOf(path: string, accessor: string): Promise<string[]>;
  /** The accessor of a new way to log in. */
  newAccessor(): Promise<string>;
}

interface Plan {
  requests: readonly [Request, Request];
  in_line?: boolean;
  judge(answers: { quicker: Answered; slower: Answered }): Promise<void>;
}

function placeIn({ maker, next }: Bench): Place {
  const number = next();
  const get = (path: string) => maker.call('GET', `identity/${path}`);
  return {
    named: (word) => `${word}-${number}`,
    get,
    make: async (path, body) =>
      (await must(maker.call('POST', `identity/${path}`, body))).textAt('data.id'),
    field: async (path, field) => (await must(get(path))).field(`data.${field}`),
    aliasesOf: async (path, accessor) => {
      const list = await maker.call('LIST', `identity/${path}/id`);
      const info = list.status === 404 ? {} : (list.field('data.key_info') as object);
      return Object.entries(info).flatMap(([id, one]) =>
        one.mount_accessor === accessor ? [id] : [],
      );
    },
    newAccessor: async () => {
      const path = `up${next()}`;
      await must(maker.call('POST', `sys/auth/${path}`, { type: 'userpass' }));
      return (await must(maker.call('GET', `sys/auth/${path}`))).textAt('accessor');
    },
  };
}

async function tokenOf({ maker, next }: Bench, who: 'root' | 'somebody'): Promise<object> {
  if (who === 'root') return {};
  const policy = `all${next()}`;
  const text = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }';
  await must(maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
  const made = await must(maker.call('POST', 'auth/token/create', { policies: [policy] }));
  return { token: made.textAt('auth.client_token') };
}

/** As root, whose requests go by no version of what is permitted, and as somebody else. */
function contest(name: string, plan: (at: Place) => Promise<Plan>): ContestCase[] {
  return (['root', 'somebody'] as const).map((who) => ({
    name: `${name} (${who})`,
    async setUp(bench) {
      const { requests, in_line = false, judge } = await plan(placeIn(bench));
      const as = await tokenOf(bench, who);
      const [one, other] = requests.map(([method, path, body]): Contender => {
        return { method, path: `identity/${path}`, ...(body ? { body } : {}), ...as };
      });
      assert.ok(one && other);
      return { one, other, in_line, judge };
    },
  }));
}

const granted = ({ reply }: Answered): void =>
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
const refused = ({ reply }: Answered, because: RegExp): void => {
  assert.equal(reply.status, 400, reply.text);
  assert.match(reply.text, because);
};

/** Two changes of different fields of one thing, of which neither is lost. */
function both(
  name: string,
  start: (at: Place) => Promise<{
    path: string;
    changes: readonly [object, object];
    in_line?: boolean;
  }>,
): ContestCase[] {
  return contest(`${name}: both are kept`, async (at) => {
    const { path, changes, in_line = false } = await start(at);
    return {
      in_line,
      requests: [
        ['POST', path, changes[0]],
        ['POST', path, changes[1]],
      ],
      async judge({ slower }) {
        granted(slower);
        for (const [field, value] of Object.entries({ ...changes[0], ...changes[1] })) {
          assert.deepEqual(await at.field(path, field), value, field);
        }
      },
    };
  });
}

/** A change of a thing, and its removal. */
function removed(
  name: string,
  start: (at: Place) => Promise<{
    path: string;
    change: object;
    remove?: Request;
    in_line?: boolean;
  }>,
  because: RegExp,
): ContestCase[] {
  return contest(`${name} and its removal: it stays removed`, async (at) => {
    const { path, change, remove = ['DELETE', path], in_line = false } = await start(at);
    return {
      in_line,
      requests: [['POST', path, change], remove],
      async judge({ slower }) {
        if (slower.by.body === change) refused(slower, because);
        else granted(slower);
        assert.equal((await at.get(path)).status, 404);
      },
    };
  });
}

/** Two requests that make sense each, but not together. */
function either(
  name: string,
  start: (at: Place) => Promise<readonly [Request, Request]>,
  because: RegExp,
): ContestCase[] {
  return contest(`${name}: one is refused`, async (at) => ({
    requests: await start(at),
    judge: async ({ slower }) => refused(slower, because),
  }));
}

const MADE = { metadata: { was: 'here' }, policies: ['before'] };

/** What holds for entities and for groups. */
const named = (kind: 'entity' | 'group'): ContestCase[] => [
  ...both(`two changes of one ${kind}`, async ({ make }) => ({
    path: `${kind}/id/${await make(kind, MADE)}`,
    changes: [{ policies: ['less'] }, { metadata: { a: 'b' } }],
  })),
  ...both(`two changes of one ${kind} by its name`, async ({ make, named }) => {
    await make(kind, { name: named('by'), ...MADE });
    return {
      path: `${kind}/name/${named('by')}`,
      changes: [{ policies: ['less'] }, { metadata: { a: 'b' } }],
    };
  }),
  ...both(`a change of one ${kind} and its new name`, async ({ make, named }) => ({
    path: `${kind}/id/${await make(kind, MADE)}`,
    changes: [{ policies: ['less'] }, { name: named('new') }],
  })),
  ...removed(
    `a change of one ${kind}`,
    async ({ make }) => ({
      path: `${kind}/id/${await make(kind, MADE)}`,
      change: { metadata: { a: 'b' } },
    }),
    /id: there is no/,
  ),
  ...removed(
    `a change of one ${kind} by its name`,
    async ({ make, named }) => {
      await make(kind, { name: named('by'), ...MADE });
      return { path: `${kind}/name/${named('by')}`, change: { metadata: { a: 'b' } } };
    },
    /was removed/,
  ),
  ...contest(`one ${kind} gets another name and the old one is removed`, async (at) => {
    const id = await at.make(kind, { name: at.named('old'), ...MADE });
    const rename: Request = ['POST', `${kind}/id/${id}`, { name: at.named('other') }];
    return {
      requests: [rename, ['DELETE', `${kind}/name/${at.named('old')}`]],
      async judge({ slower }) {
        const isRenamed = slower.by.method === 'DELETE';
        if (isRenamed) granted(slower);
        else refused(slower, /id: there is no/);
        const other = await at.get(`${kind}/name/${at.named('other')}`);
        assert.equal(other.status, isRenamed ? 200 : 404);
      },
    };
  }),
  ...contest(`one ${kind} made by two: it is one, and both are kept`, async (at) => {
    const path = `${kind}/name/${at.named('twice')}`;
    return {
      requests: [
        ['POST', path, { policies: ['mine'] }],
        ['POST', path, { metadata: { a: 'b' } }],
      ],
      async judge({ slower }) {
        granted(slower);
        assert.deepEqual(await at.field(path, 'policies'), ['mine']);
        assert.deepEqual(await at.field(path, 'metadata'), { a: 'b' });
      },
    };
  }),
  ...either(
    `one name for two of ${kind}, in capitals and not`,
    async ({ make, named }) => [
      ['POST', `${kind}/id/${await make(kind, {})}`, { name: named('same') }],
      ['POST', `${kind}/id/${await make(kind, {})}`, { name: named('SAME') }],
    ],
    /name is already in use/,
  ),
];

const entities: ContestCase[] = [
  ...both('an entity is disabled while something else of it is changed', async ({ make }) => ({
    path: `entity/id/${await make('entity', MADE)}`,
    changes: [{ disabled: true }, { metadata: { a: 'b' } }],
  })),
  ...removed(
    'one entity is disabled by its name',
    async ({ make, named }) => {
      const id = await make('entity', { name: named('off') });
      return {
        path: `entity/name/${named('off')}`,
        change: { disabled: true },
        remove: ['DELETE', `entity/id/${id}`],
        in_line: true,
      };
    },
    /was removed/,
  ),
  ...removed(
    'a change of one of many entities',
    async ({ make }) => {
      const entity_ids = [await make('entity', MADE), await make('entity', MADE)];
      return {
        path: `entity/id/${entity_ids[0]}`,
        change: { metadata: { a: 'b' } },
        remove: ['POST', 'entity/batch-delete', { entity_ids }],
      };
    },
    /id: there is no/,
  ),
];

const members = (ids: readonly string[]): object => ({ member_group_ids: ids });

const groups: ContestCase[] = [
  ...either(
    'two groups as members of each other',
    async ({ make }) => {
      const [a, b] = [await make('group', {}), await make('group', {})];
      return [
        ['POST', `group/id/${a}`, members([b])],
        ['POST', `group/id/${b}`, members([a])],
      ];
    },
    /cyclic/,
  ),
  ...either(
    'a circle of four groups that is closed at two ends',
    async ({ make }) => {
      const b = await make('group', {});
      const a = await make('group', members([b]));
      const d = await make('group', {});
      const c = await make('group', members([d]));
      return [
        ['POST', `group/id/${b}`, members([c])],
        ['POST', `group/id/${d}`, members([a])],
      ];
    },
    /cyclic/,
  ),
  ...contest('a group in two others: both are kept', async (at) => {
    const inner = await at.make('group', {});
    const [a, b] = [await at.make('group', {}), await at.make('group', {})];
    return {
      requests: [
        ['POST', `group/id/${a}`, members([inner])],
        ['POST', `group/id/${b}`, members([inner])],
      ],
      async judge({ slower }) {
        granted(slower);
        const above = await at.field(`group/id/${inner}`, 'parent_group_ids');
        assert.deepEqual(above, [a, b].sort());
      },
    };
  }),
  ...contest('what a group has for members is all of one request', async (at) => {
    const [x, y] = [await at.make('entity', {}), await at.make('entity', {})];
    const id = await at.make('group', {});
    return {
      requests: [
        ['POST', `group/id/${id}`, { member_entity_ids: [x] }],
        ['POST', `group/id/${id}`, { member_entity_ids: [y] }],
      ],
      async judge({ slower }) {
        granted(slower);
        const last = JSON.stringify(slower.by.body).includes(x) ? x : y;
        assert.deepEqual(await at.field(`group/id/${id}`, 'member_entity_ids'), [last]);
      },
    };
  }),
  ...both('a member of a group and its policies', async ({ make }) => ({
    path: `group/id/${await make('group', MADE)}`,
    changes: [{ member_entity_ids: [await make('entity', {})] }, { policies: ['less'] }],
  })),
];

interface AliasKind {
  path: 'entity-alias' | 'group-alias';
  /** What an alias may be of. */
  of: [path: string, body: object];
}

const ALIASES: readonly AliasKind[] = [
  { path: 'entity-alias', of: ['entity', {}] },
  { path: 'group-alias', of: ['group', { type: 'external' }] },
];

/** What holds for what mounts call entities, and groups. */
const aliases = ({ path, of }: AliasKind): ContestCase[] => [
  ...both(`two changes of one ${path}`, async ({ make, named, newAccessor }) => {
    const mount_accessor = await newAccessor();
    const canonical_id = await make(...of);
    const id = await make(path, { name: named('ann'), mount_accessor, canonical_id });
    return {
      path: `${path}/id/${id}`,
      changes: [{ name: named('bob') }, { canonical_id: await make(...of) }],
      in_line: path === 'entity-alias',
    };
  }),
  ...removed(
    `a change of one ${path}`,
    async ({ make, named, newAccessor }) => {
      const mount_accessor = await newAccessor();
      const canonical_id = await make(...of);
      const id = await make(path, { name: named('ann'), mount_accessor, canonical_id });
      const change = { name: named('bob') };
      return { path: `${path}/id/${id}`, change, in_line: path === 'entity-alias' };
    },
    /id: there is no/,
  ),
  ...contest(
    `a change of one ${path} by its name and its removal: it stays removed`,
    async (at) => {
      const common = { name: at.named('ann'), mount_accessor: await at.newAccessor() };
      const id = await at.make(path, { ...common, canonical_id: await at.make(...of) });
      return {
        in_line: path === 'entity-alias',
        requests: [
          ['POST', path, { ...common, canonical_id: await at.make(...of) }],
          ['DELETE', `${path}/id/${id}`],
        ],
        async judge({ slower }) {
          if (slower.by.method === 'POST') refused(slower, /was removed/);
          else granted(slower);
          assert.equal((await at.get(`${path}/id/${id}`)).status, 404);
          assert.deepEqual(await at.aliasesOf(path, common.mount_accessor), []);
        },
      };
    },
  ),
  ...contest(`one ${path} made by two: it is of whom was said last`, async (at) => {
    const mount_accessor = await at.newAccessor();
    const [a, b] = [await at.make(...of), await at.make(...of)];
    const name = at.named('ann');
    return {
      requests: [
        ['POST', path, { name, mount_accessor, canonical_id: a }],
        ['POST', path, { name, mount_accessor, canonical_id: b }],
      ],
      async judge({ quicker, slower }) {
        granted(slower);
        assert.equal(slower.reply.textAt('data.id'), quicker.reply.textAt('data.id'));
        const alias = `${path}/id/${slower.reply.textAt('data.id')}`;
        const last = JSON.stringify(slower.by.body).includes(a) ? a : b;
        assert.equal(await at.field(alias, 'canonical_id'), last);
      },
    };
  }),
  ...either(
    `two of ${path} for one`,
    async ({ make, named, newAccessor }) => {
      const common = { mount_accessor: await newAccessor(), canonical_id: await make(...of) };
      return [
        ['POST', path, { name: named('ann'), ...common }],
        ['POST', path, { name: named('bob'), ...common }],
      ];
    },
    /has an alias/,
  ),
  ...contest(`a new ${path} of somebody who is removed: there is none`, async (at) => {
    const mount_accessor = await at.newAccessor();
    const canonical_id = await at.make(...of);
    const make: Request = ['POST', path, { name: at.named('ann'), mount_accessor, canonical_id }];
    return {
      requests: [make, ['DELETE', `${of[0]}/id/${canonical_id}`]],
      async judge({ quicker, slower }) {
        if (slower.by.method === 'POST') return refused(slower, /canonical_id: there is no/);
        granted(slower);
        const gone = await at.get(`${path}/id/${quicker.reply.textAt('data.id')}`);
        assert.equal(gone.status, 404);
      },
    };
  }),
];

contestAll('who and what is changed by two at once', [
  ...named('entity'),
  ...named('group'),
  ...entities,
  ...groups,
  ...ALIASES.flatMap(aliases),
  ...both('what is said of an alias, and whose it is', async ({ make, named, newAccessor }) => {
    const mount_accessor = await newAccessor();
    const canonical_id = await make('entity', {});
    const id = await make('entity-alias', { name: named('ann'), mount_accessor, canonical_id });
    return {
      path: `entity-alias/id/${id}`,
      changes: [{ custom_metadata: { a: 'b' } }, { canonical_id: await make('entity', {}) }],
    };
  }),
]);
