import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTIONS, DEPRECATED_ACTIONS, isAction, parentAction } from '../actions.ts';
import {
  canonicalGrant,
  coversAction,
  type Grant,
  grantJson,
  parseGrant,
  templateOf,
} from './grant.ts';

const TARGET = 'ttcp_1234567890';
const OTHER_TARGET = 'ttcp_0987654321';

function grantOf(text: string): Grant {
  const reading = parseGrant(text);
  assert.ok(reading.valid, text);
  return reading.grant;
}

const readable: [text: string, canonical: string, why: string][] = [
  ['ids=*;type=*;actions=*', 'ids=*;type=*;actions=*', 'everything'],
  [
    'ids=*;type=target;actions=list,read,authorize-session;output_fields=name,id',
    'ids=*;type=target;actions=authorize-session,list,read;output_fields=id,name',
    'lists are sorted in the canonical form',
  ],
  ['actions=read;type=target;ids=*', 'ids=*;type=target;actions=read', 'in any order'],
  ['type=TARGET;ids=*;actions=READ', 'ids=*;type=target;actions=read', 'in any case'],
  [`ids=${TARGET};actions=read`, `ids=${TARGET};actions=read`, 'one thing'],
  [
    `ids=${TARGET},${OTHER_TARGET};actions=update,read`,
    `ids=${TARGET},${OTHER_TARGET};actions=read,update`,
    'several of one type, in their order',
  ],
  [`id=${TARGET};actions=read`, `id=${TARGET};actions=read`, 'the legacy field is read'],
  [`ids=${TARGET};type=target;actions=read`, `ids=${TARGET};type=target;actions=read`, 'own type'],
  ['type=target;actions=list', 'type=target;actions=list', 'the collection alone'],
  ['type=worker;actions=create:worker-led', 'type=worker;actions=create:worker-led', 'sub-action'],
  ['ids=hcst_1;type=host;actions=read', 'ids=hcst_1;type=host;actions=read', 'a child of a parent'],
  ['ids=hcst_1;type=*;actions=create,list', 'ids=hcst_1;type=*;actions=create,list', 'any child'],
  ['ids=csst_1;type=credential;actions=*', 'ids=csst_1;type=credential;actions=*', 'of a store'],
  ['ids=ampw_1;type=account;actions=list', 'ids=ampw_1;type=account;actions=list', 'of a method'],
  ['ids=*;type=target;output_fields=id', 'ids=*;type=target;output_fields=id', 'only fields'],
  [
    'ids=*;type=target;actions=read;output_fields=',
    'ids=*;type=target;actions=read;output_fields=',
    'no field at all',
  ],
  ['ids={{.User.Id}};actions=read', 'ids={{.User.Id}};actions=read', 'a template'],
  ['ids={{ account.id }};actions=read', 'ids={{ account.id }};actions=read', 'blanks inside'],
  ['ids=global;actions=read', 'ids=global;actions=read', 'the one id without a prefix'],
  [
    '{"ids":["*"],"type":"target","actions":["read"],"output_fields":["id"]}',
    'ids=*;type=target;actions=read;output_fields=id',
    'as JSON',
  ],
  [
    '{"ids":["*"],"type":"target","actions":["read"],"output_fields":[]}',
    'ids=*;type=target;actions=read;output_fields=',
    'no field, as JSON',
  ],
];

for (const [text, canonical, why] of readable) {
  test(`grant ${text}: ${why}`, () => {
    assert.equal(canonicalGrant(grantOf(text)), canonical);
    // What is stored for matching means the same when it is read again.
    assert.equal(canonicalGrant(grantOf(canonical)), canonical);
  });
}

const refused: [text: string, because: RegExp, why: string][] = [
  ['', /empty/, 'nothing'],
  ['ids', /not written as key=value/, 'no value'],
  ['ids=*=*;type=target;actions=read', /key=value/, 'two equal signs'],
  ['=read', /key=value/, 'no key'],
  [';ids=*;type=target;actions=read', /key=value/, 'an empty segment'],
  ['ids=;type=target;actions=read', /"ids" has no value/, 'an empty value'],
  ['ids=*;type=;actions=read', /"type" has no value/, 'an empty type'],
  ['ids=*;type=target;actions=', /"actions" has no value/, 'only output_fields may be empty'],
  ['ids=*;ids=*;type=target;actions=read', /twice/, 'a key given twice'],
  ['ids=*;types=target;actions=read', /none of ids/, 'an unknown key'],
  ['__proto__=x;ids=*;type=target;actions=read', /none of ids/, 'a key that every object has'],
  ['ids=*; type=target;actions=read', /none of ids/, 'no blanks are trimmed'],
  ['ids=*;type=targets;actions=read', /unknown type "targets"/, 'an unknown type'],
  ['ids=*;type=controller;actions=read', /unknown type/, 'a type of old'],
  ['ids=*;type=constructor;actions=read', /unknown type/, 'a name that every object has'],
  ['ids=*;type=target;actions=fly', /unknown action "fly"/, 'an unknown action'],
  ['ids=*;type=target;actions=read,', /unknown action ""/, 'a trailing comma'],
  ['ids=*;type=target;actions=*,read', /goes with no other action/, '* beside an action'],
  [`id=${TARGET};ids=${TARGET};actions=read`, /both given/, 'id and ids'],
  ['ids=*,ttcp_1;type=target;actions=read', /goes with no other id/, '* beside an id'],
  [`ids=${TARGET},hcst_1;actions=read`, /more than one type/, 'ids of two types'],
  ['ids=zzz_1;actions=read', /is no id/, 'an unknown prefix'],
  [`ids=${TARGET},;actions=read`, /is no id/, 'an empty id'],
  ['ids={{.User.Name}};actions=read', /is no id/, 'an unknown template'],
  ['ids={{.User.Id}}x;actions=read', /is no id/, 'text behind a template'],
  ['ids=*;type=target', /neither actions nor output fields/, 'nothing is granted'],
  ['ids=*;actions=read', /must name a type/, 'ids=* without a type'],
  [`ids=${TARGET};actions=create`, /cannot be granted on single ids/, 'create on an id'],
  [`ids=${TARGET};actions=read,list`, /"list" cannot be granted/, 'list on an id'],
  [`ids=${TARGET};type=host;actions=read`, /no other type/, 'a target holds nothing'],
  ['ids=hcst_1;type=credential;actions=read', /does not lie within/, 'a child of another parent'],
  ['type=target;actions=read', /only create and list/, 'an action on items, without ids'],
  ['type=*;actions=list', /must name one type/, 'no ids and every type'],
  ['actions=list', /neither ids nor a type/, 'no ids and no type'],
  ['type=host;actions=list', /nothing can be granted on type host/, 'hosts lie in catalogs'],
  ['type=account;actions=create', /nothing can be granted/, 'accounts lie in auth methods'],
  ['{"ids":["*"],"type":"target","actions":["read"]', /not JSON/, 'half of JSON'],
  [
    '{"ids":["*"],"type":"target","actions":["read"],"actions":["*"]}',
    /twice/,
    'a member given twice',
  ],
  [
    '{"ids":["*"],"type":"target","actions":["read"],"\\u0061ctions":["*"]}',
    /twice/,
    'a member given twice, in another spelling',
  ],
  ['{"ids":"*","type":"target","actions":["read"]}', /not a list of texts/, 'text for a list'],
  ['{"ids":["*"],"type":["target"],"actions":["read"]}', /not a text/, 'a list for text'],
  ['{"ids":[],"type":"target","actions":["list"]}', /"ids" is empty/, 'an empty list'],
  ['{"ids":["*"],"type":"target","actions":["read"],"x":1}', /none of ids/, 'an unknown member'],
  ...Object.keys(DEPRECATED_ACTIONS).map((action): [string, RegExp, string] => [
    `ids=*;type=target;actions=${action}`,
    new RegExp(`"${action}" is now "${DEPRECATED_ACTIONS[action]}"`),
    'the refusal names what replaced it',
  ]),
];

for (const [text, because, why] of refused) {
  test(`no grant ${text}: ${why}`, () => {
    const reading = parseGrant(text);
    assert.equal(reading.valid, false);
    assert.match(reading.because, because);
  });
}

test('a grant is shown in JSON without what it does not say', () => {
  assert.deepEqual(grantJson(grantOf('ids=*;type=target;actions=list,read')), {
    ids: ['*'],
    type: 'target',
    actions: ['list', 'read'],
  });
  assert.deepEqual(grantJson(grantOf('type=target;actions=list')), {
    type: 'target',
    actions: ['list'],
  });
});

test('templates have several spellings, and no other', () => {
  assert.equal(templateOf('{{.User.Id}}'), 'user');
  assert.equal(templateOf('{{ account.id }}'), 'account');
  assert.equal(templateOf('{{user.Id}}'), undefined);
  assert.equal(templateOf('u_1'), undefined);
});

test('an action covers its sub-actions, never the reverse', () => {
  assert.ok(coversAction(['read'], 'read:self'));
  assert.ok(!coversAction(['read:self'], 'read'));
  assert.ok(coversAction(['*'], 'delete'));
  assert.ok(!coversAction(['read'], 'no-op'));
  assert.equal(parentAction('create:worker-led'), 'create');
});

test('action names are known as they are written, and nothing else is', () => {
  assert.equal(new Set(ACTIONS).size, ACTIONS.length);
  assert.ok(isAction('read-certificate-authority'));
  assert.ok(!isAction('toString'));
  assert.ok(!isAction('add-host-sets'));
});
