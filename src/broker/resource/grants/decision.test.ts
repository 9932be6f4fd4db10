import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Action } from '../actions.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from '../types.ts';
import { GrantSet } from './decision.ts';
import { parseGrant, templateOf } from './grant.ts';
import type { EffectiveGrant } from './reach.ts';
import type { PrincipalKind } from './sorted.ts';
import type { Place } from './verdict.ts';

const GLOBAL = { scope_id: 'global', parent_scope_id: '' };
const ORG = { scope_id: 'o_1', parent_scope_id: 'global' };
const PROJECT = { scope_id: 'p_1', parent_scope_id: 'o_1' };
const OTHER_PROJECT = { scope_id: 'p_2', parent_scope_id: 'o_1' };
const FOREIGN_PROJECT = { scope_id: 'p_9', parent_scope_id: 'o_9' };

const TARGET = 'ttcp_1';
const OTHER_TARGET = 'ttcp_2';

function hold(text: string, where: string[] = ['this'], role_scope_id = 'p_1'): EffectiveGrant {
  const reading = parseGrant(text);
  assert.ok(reading.valid, text);
  return { grant: reading.grant, role_id: 'r_1', role_scope_id, grant_scope_ids: where };
}

const holder = (asker: PrincipalKind, ...texts: string[]): GrantSet =>
  new GrantSet(
    asker,
    texts.map((text) => hold(text)),
  );

type Asked = { id?: string; pin?: string };

// Each rule beside its nearest "no".
const rows: [
  grant: string,
  type: ResourceTypeName,
  action: Action,
  asked: Asked,
  allowed: boolean,
  why: string,
][] = [
  [`ids=${TARGET};actions=read`, 'target', 'read', { id: TARGET }, true, 'the id'],
  [`ids=${TARGET};actions=read`, 'target', 'read', { id: OTHER_TARGET }, false, 'another id'],
  [`ids=${TARGET};actions=read`, 'target', 'update', { id: TARGET }, false, 'another action'],
  [`ids=${TARGET};actions=read`, 'target', 'list', {}, false, 'not the collection'],
  [`ids=${TARGET};type=target;actions=read`, 'target', 'read', { id: TARGET }, true, 'own type'],
  [`ids=${TARGET};actions=*`, 'target', 'delete', { id: TARGET }, true, 'every action'],
  [`ids=${TARGET};actions=*`, 'target', 'create', { id: TARGET }, false, 'but create'],
  [`ids=${TARGET};actions=*`, 'target', 'list', { id: TARGET }, false, 'and list'],
  ['type=target;actions=list', 'target', 'list', {}, true, 'the collection'],
  ['type=target;actions=list', 'target', 'list', { id: TARGET }, false, 'an item is none'],
  ['type=target;actions=list', 'target', 'read', { id: TARGET }, false, 'nor can it be read'],
  ['type=target;actions=list', 'target', 'create', {}, false, 'list is not create'],
  ['type=target;actions=create,list', 'target', 'create', {}, true, 'both'],
  ['type=target;actions=list', 'session', 'list', {}, false, 'another collection'],
  ['type=worker;actions=create', 'worker', 'create:worker-led', {}, true, 'the parent action'],
  ['type=worker;actions=create:worker-led', 'worker', 'create:controller-led', {}, false, 'sibling'],
  ['ids=*;type=target;actions=read', 'target', 'read', { id: TARGET }, true, 'every id'],
  ['ids=*;type=*;actions=read', 'target', 'read', { id: TARGET }, true, 'and every type'],
  ['ids=*;type=host;actions=read', 'target', 'read', { id: TARGET }, false, 'another type'],
  ['ids=*;type=target;actions=list', 'target', 'list', {}, true, 'a list, too'],
  ['ids=*;type=host;actions=list', 'host', 'list', { pin: 'hcst_1' }, true, 'of a parent, too'],
  ['ids=*;type=target;actions=read:self', 'target', 'read', { id: TARGET }, false, 'a part only'],
  ['ids=hcst_1;type=host;actions=read', 'host', 'read', { id: 'hst_1', pin: 'hcst_1' }, true, 'of its parent'],
  ['ids=hcst_1;type=host;actions=read', 'host', 'read', { id: 'hst_1', pin: 'hcst_2' }, false, 'pin'],
  ['ids=hcst_1;type=host;actions=read', 'host-set', 'read', { id: 'hsst_1', pin: 'hcst_1' }, false, 'type'],
  ['ids=hcst_1;type=*;actions=read', 'host-set', 'read', { id: 'hsst_1', pin: 'hcst_1' }, true, 'any'],
  ['ids=hcst_1;type=*;actions=read', 'host-catalog', 'read', { id: 'hcst_1' }, false, 'not itself'],
  ['ids=hcst_1;type=host;actions=list', 'host', 'list', { pin: 'hcst_1' }, true, 'list in the parent'],
  ['ids=hcst_1;type=host;actions=create', 'host', 'list', { pin: 'hcst_1' }, false, 'create only'],
  ['ids=hcst_1;actions=read', 'host', 'read', { id: 'hst_1', pin: 'hcst_1' }, false, 'not what is in it'],
  ['ids=*;type=target;output_fields=id', 'target', 'read', { id: TARGET }, false, 'fields allow nothing'],
]; // biome-ignore format: one table

for (const [grant, type, action, asked, allowed, why] of rows) {
  test(`${grant} ${allowed ? 'allows' : 'does not allow'} ${action} on ${asked.id ?? `a list of ${type}`}: ${why}`, () => {
    const verdict = holder('user', grant).judge({ ...PROJECT, type, action, ...asked });
    assert.equal(verdict.authorized, allowed);
  });
}

const possible: [grant: string, type: ResourceTypeName, action: Action, may: boolean, why: string][] = [
  [`ids=${TARGET};actions=read`, 'target', 'read', true, 'of one target'],
  [`ids=${TARGET};actions=read`, 'target', 'update', false, 'of none'],
  [`ids=${TARGET};actions=*`, 'target', 'create', false, 'a target makes no target'],
  ['ids=*;type=target;actions=create', 'target', 'create', true, 'anywhere'],
  ['ids=*;type=target;actions=create', 'host-catalog', 'create', false, 'another type'],
  ['type=target;actions=list', 'target', 'list', true, 'the collection'],
  ['type=target;actions=list', 'target', 'create', false, 'another action'],
  ['ids=hcst_1;type=host;actions=create', 'host', 'create', true, 'in one catalog'],
  ['ids=hcst_1;type=host;actions=create', 'host-set', 'create', false, 'not its sets'],
  ['ids=hcst_1;type=*;actions=create', 'host-set', 'create', true, 'whatever lies in it'],
  ['ids=hcst_1;type=*;actions=create', 'host-catalog', 'create', false, 'but itself'],
  ['ids=*;type=session;actions=cancel:self', 'session', 'cancel', true, 'the own ones'],
  ['ids=*;type=session;actions=cancel:self', 'session', 'read', false, 'nothing else of them'],
  ['ids=*;type=worker;actions=create', 'worker', 'create:worker-led', true, 'the parent action'],
  ['ids=*;type=worker;output_fields=id', 'worker', 'read', false, 'fields allow nothing'],
]; // biome-ignore format: one table

for (const [grant, type, action, may, why] of possible) {
  test(`with ${grant} ${action} of some ${type} is ${may ? '' : 'not '}possible: ${why}`, () => {
    assert.equal(holder('user', grant).mayAllow(type, action), may);
    assert.equal(holder('anonymous', grant).mayAllow(type, action), false);
    assert.ok(holder('recovery').mayAllow(type, action));
  });
}

test('what is allowed of one thing is possible', () => {
  for (const [grant, type, action, , allowed] of rows) {
    if (allowed) assert.ok(holder('user', grant).mayAllow(type, action), `${grant} ${action}`);
  }
});

const reaches: [
  role_scope: string,
  grant_scope: string,
  place: typeof PROJECT,
  reached: boolean,
  why: string,
][] = [
  ['o_1', 'this', ORG, true, 'its own scope'],
  ['o_1', 'this', PROJECT, false, '"this" on an org is not its projects'],
  ['o_1', 'children', PROJECT, true, '"children" on an org are its projects'],
  ['o_1', 'children', ORG, false, 'not itself'],
  ['o_1', 'children', FOREIGN_PROJECT, false, 'not those of another org'],
  ['global', 'children', ORG, true, 'the orgs of global'],
  ['global', 'children', PROJECT, false, 'not what is in them'],
  ['global', 'children', GLOBAL, false, 'not global, which has no parent'],
  ['global', 'descendants', ORG, true, 'everything'],
  ['global', 'descendants', PROJECT, true, 'everything'],
  ['global', 'descendants', GLOBAL, false, 'but global'],
  ['o_1', 'descendants', PROJECT, false, 'only global has descendants'],
  ['global', 'p_1', PROJECT, true, 'one scope by its id'],
  ['global', 'p_1', OTHER_PROJECT, false, 'not its sibling'],
];

for (const [role_scope, grant_scope, place, reached, why] of reaches) {
  test(`a role of ${role_scope} with ${grant_scope} in ${place.scope_id}: ${why}`, () => {
    const grants = [hold('ids=*;type=group;actions=read', [grant_scope], role_scope)];
    const asked = { ...place, type: 'group', id: 'g_1', action: 'read' } as const;
    assert.equal(new GrantSet('user', grants).judge(asked).authorized, reached);
  });
}

test('a narrower grant takes nothing away from a wider one', () => {
  const both = holder('user', 'ids=*;type=target;actions=*', `ids=${TARGET};actions=read`);
  const asked = { ...PROJECT, type: 'target', id: TARGET } as const;
  assert.ok(both.judge({ ...asked, action: 'delete' }).authorized);
  assert.ok(both.judge({ ...asked, action: 'read' }).authorized);
});

const anonymous: [grant: string, type: ResourceTypeName, action: Action, allowed: boolean][] = [
  ['ids=*;type=scope;actions=*', 'scope', 'list', true],
  ['ids=*;type=scope;actions=*', 'scope', 'no-op', true],
  ['ids=*;type=scope;actions=*', 'scope', 'read', false],
  ['ids=*;type=auth-method;actions=*', 'auth-method', 'authenticate', true],
  ['ids=*;type=auth-method;actions=*', 'auth-method', 'list', true],
  ['ids=*;type=auth-method;actions=*', 'auth-method', 'read', false],
  ['ids=*;type=auth-method;actions=*', 'auth-method', 'create', false],
  ['ids=*;type=*;actions=*', 'scope', 'list', false],
  ['ids=*;type=*;actions=*', 'target', 'list', false],
  ['ids=*;type=target;actions=*', 'target', 'list', false],
  ['ids=*;type=target;actions=*', 'target', 'authorize-session', false],
  ['ids=*;type=auth-token;actions=read:self', 'auth-token', 'read:self', false],
];

for (const [grant, type, action, allowed] of anonymous) {
  test(`with ${grant} nobody in particular ${allowed ? 'may' : 'may not'} ${action} a ${type}`, () => {
    const asked = { ...PROJECT, type, action };
    assert.equal(holder('anonymous', grant).judge(asked).authorized, allowed);
    assert.equal(holder('anonymous', grant).mayAllow(type, action), allowed);
    assert.ok(holder('user', grant).judge(asked).authorized);
  });
}

test('a recovery is allowed everything, with all fields', () => {
  const grants = new GrantSet('recovery', []);
  const asked = { ...PROJECT, type: 'target', id: TARGET, action: 'delete' } as const;
  assert.deepEqual(grants.judge(asked), { authorized: true, output_fields: 'all' });
  const { actions } = RESOURCE_TYPES.target;
  assert.deepEqual(
    grants.listActions({ ...PROJECT, type: 'target', id: TARGET }, actions),
    actions,
  );
  assert.equal(holder('user').judge(asked).authorized, false);
});

// Output fields.
const fields: [grants: string[], asker: PrincipalKind, expected: 'all' | string[], why: string][] =
  [
    [['ids=*;type=scope;actions=no-op'], 'user', 'all', 'all unless somebody says otherwise'],
    [['ids=*;type=scope;actions=no-op;output_fields=id'], 'user', ['id'], 'exactly those listed'],
    [
      ['ids=*;type=scope;actions=no-op;output_fields=id', 'ids=*;type=scope;actions=read'],
      'user',
      ['id'],
      'a grant of another action says nothing',
    ],
    [
      ['ids=*;type=scope;actions=no-op;output_fields=id', 'ids=*;type=scope;actions=no-op'],
      'user',
      ['id'],
      'a match without fields adds none',
    ],
    [
      ['ids=*;type=scope;actions=no-op;output_fields=id', 'ids=*;type=scope;output_fields=name'],
      'user',
      ['id', 'name'],
      'a grant of fields alone adds its own',
    ],
    [
      ['ids=*;type=scope;actions=no-op;output_fields=id', 'ids=*;type=scope;output_fields=*'],
      'user',
      'all',
      '* wins',
    ],
    [['ids=*;type=scope;actions=no-op;output_fields='], 'user', [], 'none at all'],
    [
      ['ids=*;type=scope;actions=no-op;output_fields=version'],
      'anonymous',
      ['version'],
      'as granted',
    ],
  ];

for (const [grants, asker, expected, why] of fields) {
  test(`output fields of ${grants.join(' and ')}: ${why}`, () => {
    const asked = { ...PROJECT, type: 'scope', id: 'p_1', action: 'no-op' } as const;
    const { output_fields } = holder(asker, ...grants).judge(asked);
    assert.deepEqual(output_fields === 'all' ? 'all' : output_fields.names.sort(), expected);
  });
}

test('nobody in particular sees what tells little, unless a grant says otherwise', () => {
  const asked = { ...PROJECT, type: 'scope', id: 'p_1', action: 'no-op' } as const;
  const { output_fields } = holder('anonymous', 'ids=*;type=scope;actions=no-op').judge(asked);
  assert.ok(output_fields !== 'all');
  assert.ok(output_fields.has('name'));
  assert.ok(!output_fields.has('created_time'));
});

test('actions are listed in the order of their type, for one item as for any other', () => {
  const grants = holder(
    'user',
    'ids=*;type=target;actions=delete,read',
    `ids=${TARGET};actions=update`,
  );
  const { actions } = RESOURCE_TYPES.target;
  const ofType = { ...PROJECT, type: 'target' } as const;
  for (let again = 0; again < 2; again++) {
    assert.deepEqual(grants.listActions({ ...ofType, id: OTHER_TARGET }, actions), [
      'read',
      'delete',
    ]);
    assert.deepEqual(grants.listActions({ ...ofType, id: TARGET }, actions), [
      'read',
      'update',
      'delete',
    ]);
    assert.deepEqual(grants.listActions({ ...ofType, scope_id: 'p_2', id: TARGET }, actions), []);
    assert.deepEqual(grants.listActions(ofType, ['create', 'list']), []);
  }
});

test('what was answered for a collection is not the answer for an item, nor the reverse', () => {
  const grants = holder('user', 'type=target;actions=list');
  const asked = { ...PROJECT, type: 'target', action: 'list' } as const;
  assert.ok(grants.judge(asked).authorized);
  assert.ok(!grants.judge({ ...asked, id: TARGET }).authorized);
  assert.ok(grants.judge(asked).authorized);
});

const visibilities: [grants: string[], type: ResourceTypeName, seen: object, why: string][] = [
  [['ids=*;type=target;actions=read'], 'target', { all: true }, 'an action on every id'],
  [['type=target;actions=list'], 'target', {}, 'a right to list shows nothing'],
  [['ids=*;type=target;actions=list,create'], 'target', {}, 'nor do actions on the collection'],
  [[`ids=${TARGET};actions=read`], 'target', { ids: [TARGET] }, 'what is named'],
  [['ids=*;type=session;actions=read:self'], 'session', { own: true }, "one's own"],
  [['ids=*;type=session;actions=read'], 'session', { all: true, own: true }, "everybody's"],
  [['ids=hcst_1;type=host;actions=read'], 'host', { pins: ['hcst_1'] }, 'what is in a parent'],
  [['ids=hcst_1;type=host-set;actions=read'], 'host', {}, 'of its own type only'],
  [['ids=*;type=target;output_fields=id'], 'target', {}, 'fields show nothing'],
];

for (const [grants, type, seen, why] of visibilities) {
  test(`with ${grants.join(' and ')}, of ${type}s is seen: ${why}`, () => {
    const place = { ...PROJECT, type };
    const visible = holder('user', ...grants).describeVisibility(
      place,
      RESOURCE_TYPES[type].actions,
    );
    const none = { all: false, own: false, ids: [], pins: [] };
    const flat = (sets: readonly ReadonlySet<string>[]): string[] =>
      sets.flatMap((set) => [...set]);
    const plain = { ...visible, ids: flat(visible.ids), pins: flat(visible.pins) };
    const all = 'all' in seen ? { own: true } : {};
    assert.deepEqual(plain, { ...none, ...all, ...seen });
  });
}

test('a fingerprint changes with the grants on its type, and with no other', async () => {
  const base = ['ids=*;type=target;actions=read', 'ids=ampw_1;type=*;actions=list'];
  const print = (type: ResourceTypeName, ...more: string[]) =>
    holder('user', ...base, ...more).fingerprint(type);
  for (const more of [
    'ids=*;type=target;actions=list',
    `ids=${TARGET};actions=read`,
    'ids=*;type=*;actions=read',
  ]) {
    assert.notEqual(await print('target'), await print('target', more), more);
  }
  for (const more of [
    'ids=*;type=session;actions=list',
    'type=role;actions=list',
    'ids=hcst_1;actions=read',
  ]) {
    assert.equal(await print('target'), await print('target', more), more);
  }
  assert.notEqual(await print('account'), await print('session'));
  assert.equal(await print('account'), await print('managed-group'));
  assert.notEqual(await print('host'), await print('host', 'ids=hcst_1;type=host;actions=read'));
});

test('a fingerprint does not depend on the order in which roles were found', async () => {
  const grants = ['ids=*;type=target;actions=read', 'ids=*;type=target;actions=list'];
  const one = await holder('user', ...grants).fingerprint('target');
  assert.equal(await holder('user', ...grants.reverse()).fingerprint('target'), one);
  const elsewhere = grants.map((text) => hold(text, ['children']));
  assert.notEqual(await new GrantSet('user', elsewhere).fingerprint('target'), one);
});

/** Grants on what is somebody's own, and beside them others on the same types. */
const OWN_GRANTS = [
  'ids={{.User.Id}};actions=read;output_fields=id',
  'ids={{ user.id }},u_7;actions=read,update',
  'ids={{.Account.Id}};actions=read,change-password',
  'ids={{.Account.Id}},acctpw_7;type=account;actions=delete',
  'ids=u_7,{{.User.Id}};output_fields=name',
  'ids=*;type=account;actions=no-op',
  'type=user;actions=list',
];
const OWN_ITEMS: [type: ResourceTypeName, ids: (string | undefined)[], actions: Action[]][] = [
  ['user', ['u_1', 'u_2', 'u_7', undefined], ['read', 'update', 'delete', 'list']],
  ['account', ['acctpw_1', 'acctpw_2', 'acctpw_7'], ['read', 'change-password', 'delete', 'no-op']],
  ['managed-group', ['mgoidc_1'], ['read']],
];

type Own = Record<'user_id' | 'account_id', string>;

/** As if the role named whoever has it. */
function fill(held: readonly EffectiveGrant[], own: Own): EffectiveGrant[] {
  return held.flatMap((one) => {
    const ids = one.grant.ids.flatMap((id) => {
      const template = templateOf(id);
      return template ? own[`${template}_id`] : id;
    });
    const named = ids.filter((id) => id !== '');
    if (ids.length > 0 && named.length === 0) return [];
    return [{ ...one, grant: { ...one.grant, ids: named } }];
  });
}

for (const own of [
  { user_id: 'u_1', account_id: 'acctpw_1' },
  { user_id: 'u_1', account_id: '' },
  { user_id: 'u_7', account_id: 'acctpw_7' },
]) {
  const whose = `${own.user_id} with account "${own.account_id}"`;
  test(`grants say the same filled in, as they are, shared and in parts, for ${whose}`, () => {
    for (let chosen = 1; chosen < 1 << OWN_GRANTS.length; chosen++) {
      const held = OWN_GRANTS.filter((_, at) => chosen & (1 << at)).map((text) => hold(text));
      const alone = new GrantSet('user', fill(held, own));
      const parts = held.map((one) => new GrantSet('user', [{ ...one, role_id: 'r_2' }]));
      const forms = [
        new GrantSet('user', held, { own }),
        new GrantSet('user', [], { bases: [new GrantSet('user', held)], own }),
        new GrantSet('user', held.slice(0, 1), { bases: parts.slice(1), own }),
      ];
      for (const [at, form] of forms.entries()) requireSame(form, alone, `${at} of ${chosen}`);
    }
  });
}

function requireSame(form: GrantSet, alone: GrantSet, what: string): void {
  for (const [type, ids, actions] of OWN_ITEMS) {
    const place = { ...PROJECT, type };
    for (const id of ids) {
      const asked = { ...place, id, pin: type === 'user' ? undefined : 'ampw_1' };
      for (const action of actions) {
        assert.equal(form.mayAllow(type, action) || !alone.mayAllow(type, action), true);
        const said = form.judge({ ...asked, action });
        assert.deepEqual(said, alone.judge({ ...asked, action }), `${what}: ${action} ${id}`);
      }
      assert.deepEqual(form.listActions(asked, actions), alone.listActions(asked, actions), what);
    }
    assert.deepEqual(seenBy(form, place, actions), seenBy(alone, place, actions), what);
  }
}

/** The ids of all sets together: by which grant they are seen is no matter. */
function seenBy(grants: GrantSet, place: Place, actions: Action[]): unknown {
  const { all, own, ids, pins } = grants.describeVisibility(place, actions);
  const sorted = (sets: typeof ids): string[] =>
    [...new Set(sets.flatMap((set) => [...set]))].sort();
  return { all, own, ids: sorted(ids), pins: sorted(pins) };
}

test('whose templates they are tells apart what is granted by the same grants', async () => {
  const base = new GrantSet('user', [hold('ids={{.User.Id}};actions=read')]);
  const printOf = (user_id: string): Promise<string> | string =>
    new GrantSet('user', [], { bases: [base], own: { user_id, account_id: '' } }).fingerprint(
      'user',
    );
  assert.equal(await printOf('u_1'), await printOf('u_1'));
  assert.notEqual(await printOf('u_1'), await printOf('u_2'));
});

test('of fields no others are known than anything has, whatever is named before them', () => {
  const names = Array.from({ length: 800 }, (_, at) => `f${at}`);
  const held = [
    hold(`ids=*;type=target;actions=read;output_fields=${names.join(',')}`),
    hold(`ids=*;type=target;actions=read;output_fields=${names[0]},id`),
  ];
  const bases = held.map((one) => new GrantSet('user', [one]));
  for (const grants of [new GrantSet('user', held), new GrantSet('user', [], { bases })]) {
    const asked = { ...PROJECT, type: 'target', id: TARGET, action: 'read' } as const;
    const { output_fields } = grants.judge(asked);
    assert.ok(output_fields !== 'all');
    assert.deepEqual(output_fields.names, ['id']);
    assert.ok(!output_fields.has('f0'));
  }
});

test('all fields are all fields, however many others are named before', () => {
  const names = Array.from({ length: 300 }, (_, at) => `f${at}`).join(',');
  const [many, all] = [`${names}`, `${names},*`].map((fields) =>
    hold(`ids=*;type=target;actions=read;output_fields=${fields}`),
  );
  assert.ok(many && all);
  const asked = { ...PROJECT, type: 'target', id: TARGET, action: 'read' } as const;
  const parts = [many, all].map((one) => new GrantSet('user', [one]));
  for (const grants of [
    new GrantSet('user', [many, all]),
    new GrantSet('user', [], { bases: parts }),
  ]) {
    assert.equal(grants.judge(asked).output_fields, 'all');
  }
});

test('of a thing that grants name those fields are shown that grants of the action name', () => {
  const texts = [
    `ids=${TARGET};actions=*;output_fields=id,name`,
    `ids=${TARGET};actions=read,update;output_fields=address`,
    // What so many grants say together is kept; here it is the same.
    ...Array.from({ length: 20 }, (_, at) => `ids=${TARGET};actions=read;output_fields=f${at}`),
  ];
  for (const count of [2, 22]) {
    const grants = new GrantSet(
      'user',
      texts.slice(0, count).map((text) => hold(text)),
    );
    const fieldsOf = (action: 'read' | 'update' | 'delete' | 'no-op') => {
      const { output_fields } = grants.judge({ ...PROJECT, type: 'target', id: TARGET, action });
      return output_fields === 'all' ? 'all' : output_fields.names.sort();
    };
    for (const action of ['read', 'update', 'read'] as const) {
      assert.deepEqual(fieldsOf(action), ['address', 'id', 'name']);
    }
    for (const action of ['delete', 'no-op'] as const) {
      assert.deepEqual(fieldsOf(action), ['id', 'name']);
    }
  }
});
