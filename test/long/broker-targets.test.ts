import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, nobody, project, org, make } = broker;

let made = 0;
const newName = (): string => `target-${made++}`;

const BASE = { scope_id: project, type: 'tcp', attributes: { default_port: 22 } };

async function newTarget(more: object = {}): Promise<Reply> {
  const answer = await admin('POST', 'targets', { ...BASE, name: newName(), ...more });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const idOf = async (more: object = {}): Promise<string> => (await newTarget(more)).textAt('id');

const catalog = await make('host-catalogs', { scope_id: project, type: 'static' });
const newHostSet = (host_catalog_id = catalog): Promise<string> =>
  make('host-sets', { host_catalog_id });
const hostSet = await newHostSet();
const otherSet = await newHostSet();
const otherProject = await make('scopes', { scope_id: org, type: 'project', name: 'other' });
const foreignCatalog = await make('host-catalogs', { scope_id: otherProject, type: 'static' });
const foreignSet = await newHostSet(foreignCatalog);

// Reading

test('a target is read by its id, and says that it has no address', async () => {
  const id = await idOf();
  const answer = await admin('GET', `targets/${id}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.field('address'), '');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
});

const unreadable: [why: string, path: string, status: number, fields: string[]][] = [
  ['well formed and unknown', 'ttcp_DoesntExis', 404, []],
  ['another prefix', 'j_1234567890', 400, ['id']],
  ['a blank in the id', 'ttcp_1%2023456789', 400, ['id']],
  ['no underscore, so an alias', 'invalid%20id', 404, []],
  ['encoded twice', 'ttcp_1234567890%252F..%252F', 400, ['id']],
  ['an encoded slash is a slash', 'ttcp_1234567890%2F..', 404, []],
  ['an id of another resource', 'hcst_1234567890', 400, ['id']],
  ['a role by its path', '..%2Froles', 404, []],
];

for (const [why, path, status, fields] of unreadable) {
  test(`a target asked for by ${why}: ${status}, for somebody and for nobody`, async () => {
    for (const call of [admin, nobody]) {
      const answer = await call('GET', `targets/${path}`);
      assert.equal(answer.status, status);
      assert.deepEqual(Object.keys(refusedFields(answer)), fields);
    }
  });
}

test('an alias stands for its target, in any case and on every path, and for nothing once it leads nowhere', async () => {
  const target = await newTarget({
    with_aliases: [
      { scope_id: 'global', value: 'one.example' },
      { scope_id: 'global', value: 'Two.Example' },
    ],
  });
  const id = target.textAt('id');
  assert.equal(target.field('with_aliases'), undefined);
  const aliases = target.field('aliases') as { id: string; value: string }[];
  assert.deepEqual(aliases.map(({ value }) => value).sort(), ['Two.Example', 'one.example']);
  for (const alias of aliases) {
    assert.match(alias.id, /^alt_[A-Za-z0-9]{10}$/);
    assert.deepEqual(Object.keys(alias).sort(), ['id', 'value']);
  }
  for (const value of ['one.example', 'ONE.EXAMPLE', 'two.example']) {
    const read = await admin('GET', `targets/${value}`);
    assert.equal(read.textAt('id'), id);
  }
  const verb = await admin('POST', 'targets/one.example:set-host-sources', {
    version: 1,
    host_source_ids: [hostSet],
  });
  assert.deepEqual(verb.field('host_source_ids'), [hostSet]);
  const changed = await admin('PATCH', 'targets/two.example', { version: 2, description: 'd' });
  assert.equal(changed.textAt('id'), id);
  assert.equal((await admin('DELETE', 'targets/one.example')).status, 204);
  assert.equal((await admin('GET', 'targets/one.example')).status, 404);
  const alias = await admin('GET', `aliases/${aliases[0]?.id}`);
  assert.equal(alias.status, 200);
  assert.equal(alias.field('destination_id'), undefined);
});

const unrouted: [method: string, path: string, status: number][] = [
  ['GET', 'targets', 400],
  ['POST', 'targets/ttcp_1234567890:fly', 400],
  ['POST', 'targets/ttcp_1234567890:cancel', 405],
  ['PUT', 'targets', 405],
  ['DELETE', 'targets', 405],
  ['POST', 'targets/ttcp_1234567890', 405],
  ['GET', 'targets/ttcp_1234567890:add-host-sources', 405],
];

test('a verb that nothing has is no request, one of another resource and an unknown method are not allowed', async () => {
  for (const [method, path, status] of unrouted) {
    const answer = await admin(method, path, method === 'GET' ? undefined : {});
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  }
});

// Creating

test('a new target has the defaults', async () => {
  const answer = await newTarget();
  assert.equal(answer.field('version'), 1);
  assert.equal(answer.field('session_max_seconds'), 28_800);
  assert.equal(answer.field('session_connection_limit'), -1);
  assert.equal(answer.textAt('created_time'), answer.textAt('updated_time'));
  assert.deepEqual(answer.field('attributes'), { default_port: 22 });
  assert.equal(answer.textAt('scope.parent_scope_id'), org);
});

const REQUIRED = 'This field is required.';
const READ_ONLY = 'This is a read only field.';
const ZERO = 'This field cannot be set to zero.';
const TOO_BIG = 'Value is greater than maximum port number.';
const PROJECT_ID = 'This field is required to have a properly formatted project scope id.';
const UNKNOWN_TYPE = 'Unknown type provided.';
const FORMAT = 'Attribute fields do not match the expected format.';

const uncreatable: [why: string, change: object, fields: Record<string, string>][] = [
  [
    'an alias with an id',
    { with_aliases: [{ id: 'alt_1', scope_id: 'global', value: 'x.example' }] },
    {
      with_aliases: 'Included aliases can only specify a value, a scope id, and attributes.',
    },
  ],
  ['no attributes', { attributes: undefined }, { 'attributes.default_port': REQUIRED }],
  ['null attributes', { attributes: null }, { 'attributes.default_port': REQUIRED }],
  ['port 0', { attributes: { default_port: 0 } }, { 'attributes.default_port': ZERO }],
  ['port 65536', { attributes: { default_port: 65_536 } }, { 'attributes.default_port': TOO_BIG }],
  [
    'client port 0',
    { attributes: { default_port: 22, default_client_port: 0 } },
    { 'attributes.default_client_port': ZERO },
  ],
  ['a made up type', { type: 'ThisIsMadeUp' }, { type: UNKNOWN_TYPE }],
  ['an empty type', { type: '' }, { type: UNKNOWN_TYPE }],
  ['no type', { type: undefined }, { type: UNKNOWN_TYPE }],
  [
    'what the server says',
    { id: 'ttcp_1', created_time: 'x', updated_time: 'x', version: 1 },
    {
      id: READ_ONLY,
      created_time: READ_ONLY,
      updated_time: READ_ONLY,
      version: 'Cannot specify this field in a create request.',
    },
  ],
  [
    'worker_filter',
    { worker_filter: 'type == "bar"' },
    { worker_filter: 'This field is deprecated. Use egress_worker_filter instead.' },
  ],
  [
    'a filter that cannot be read',
    { egress_worker_filter: 'bad expression' },
    { egress_worker_filter: 'Unable to successfully parse egress filter expression.' },
  ],
  [
    'an ingress filter that cannot be read',
    { ingress_worker_filter: 'bad expression' },
    { ingress_worker_filter: 'Unable to successfully parse ingress filter expression.' },
  ],
  [
    'a port in the address',
    { address: '8.8.8.8:80' },
    { address: 'Address does not support a port.' },
  ],
  ['a name of blanks', { name: '   ' }, { name: 'Cannot set empty string as name' }],
  ['no name', { name: undefined }, { name: REQUIRED }],
  ['an empty name', { name: '' }, { name: REQUIRED }],
  ['under an org', { scope_id: org }, { scope_id: PROJECT_ID }],
  ['under the global scope', { scope_id: 'global' }, { scope_id: PROJECT_ID }],
  ['nowhere', { scope_id: undefined }, { scope_id: PROJECT_ID }],
  ['an unknown attribute', { attributes: { default_port: 22, x: 1 } }, { attributes: FORMAT }],
  ['an attribute of another kind', { attributes: { default_port: 'x' } }, { attributes: FORMAT }],
  [
    'no session at all',
    { session_connection_limit: 0, session_max_seconds: 0 },
    {
      session_connection_limit: 'This must be -1 (unlimited) or greater than zero.',
      session_max_seconds: 'This must be greater than zero.',
    },
  ],
];

for (const [why, change, fields] of uncreatable) {
  test(`no target is made: ${why}, refused with the field's name and the words clients know`, async () => {
    const body = { ...BASE, name: newName(), ...change };
    const answer = await admin('POST', 'targets', body);
    assert.equal(answer.status, 400);
    assert.equal(answer.textAt('kind'), 'InvalidArgument');
    assert.equal(answer.textAt('message'), 'Error in provided request.');
    const said = refusedFields(answer);
    assert.deepEqual(said, fields);
    assert.deepEqual(Object.keys(said), Object.keys(fields).sort());
    // Of somebody who may make no target the fields are not read.
    assert.equal((await nobody('POST', 'targets', body)).status, 401);
  });
}

const creatable: [why: string, change: object, shown: Record<string, unknown>][] = [
  ['no client port', {}, { attributes: { default_port: 22 } }],
  [
    'a filter',
    { egress_worker_filter: 'type == "bar"' },
    { egress_worker_filter: 'type == "bar"' },
  ],
  ['an address is trimmed', { address: ' 127.0.0.1 ' }, { address: '127.0.0.1' }],
  [
    'an address is canonical',
    { address: '2001:BEEF:0:0:0:1:0:0001' },
    { address: '2001:beef::1:0:1' },
  ],
  ['a name is trimmed', { name: '  padded ' }, { name: 'padded' }],
  ['a name may have a slash', { name: 'a/b' }, { name: 'a/b' }],
  ['whole numbers may be text', { session_max_seconds: '60' }, { session_max_seconds: 60 }],
  ['the other spelling of names', { sessionMaxSeconds: 61 }, { session_max_seconds: 61 }],
  ['what is unknown is passed over', { made_up: 1 }, { made_up: undefined }],
  [
    'host sources are not taken here',
    { host_source_ids: [hostSet] },
    { host_source_ids: undefined },
  ],
];

for (const [why, change, shown] of creatable) {
  test(`a target is made: ${why}`, async () => {
    const answer = await newTarget(change);
    const read = await admin('GET', `targets/${answer.textAt('id')}`);
    for (const [field, value] of Object.entries(shown)) {
      assert.deepEqual(answer.field(field), value);
      assert.deepEqual(read.field(field), value);
    }
  });
}

test('an alias that cannot be leaves no target behind', async () => {
  await newTarget({ with_aliases: [{ scope_id: 'global', value: 'taken.example' }] });
  const plain = await broker.person(['ids=*;type=target;actions=create,read']);
  const name = newName();
  const attempts: [call: typeof admin, alias: object, status: number][] = [
    [admin, { scope_id: 'global', value: 'no_alias' }, 400],
    [admin, { scope_id: 'global', value: '' }, 400],
    [admin, { scope_id: 'global' }, 400],
    [admin, { scope_id: 'global', value: 'TAKEN.example' }, 400],
    [admin, { scope_id: 'o_unknown', value: 'x.example' }, 404],
    [admin, { scope_id: project, value: 'x.example' }, 400],
    [
      admin,
      {
        scope_id: 'global',
        value: 'x.example',
        attributes: { authorize_session_arguments: { host_id: 'no host' } },
      },
      400,
    ],
    [plain.call, { scope_id: 'global', value: 'x.example' }, 403],
  ];
  for (const [call, alias, status] of attempts) {
    const answer = await call('POST', 'targets', { ...BASE, name, with_aliases: [alias] });
    assert.equal(answer.status, status, JSON.stringify(alias));
  }
  assert.equal((await plain.call('POST', 'targets', { ...BASE, name })).status, 200);
});

test('a name is taken once in a project, for targets of every type', async () => {
  const name = newName();
  await newTarget({ name });
  for (const more of [{}, { type: 'ssh', attributes: {} }]) {
    const again = await admin('POST', 'targets', { ...BASE, name, ...more });
    assert.equal(again.status, 400);
    assert.equal(again.textAt('kind'), 'InvalidArgument');
    assert.match(again.textAt('message'), /^Invalid request\. {2}Request attempted to make second/);
    assert.equal(again.field('details'), undefined);
  }
  await newTarget({ name, scope_id: otherProject });
  await newTarget({ name: name.toUpperCase() });
});

test('ssh and rdp targets have the ports of their protocols', async () => {
  const ssh = await newTarget({ type: 'ssh', attributes: undefined });
  assert.match(ssh.textAt('id'), /^tssh_/);
  assert.deepEqual(ssh.field('attributes'), { default_port: 22 });
  const rdp = await newTarget({ type: 'rdp', attributes: {} });
  assert.deepEqual(rdp.field('attributes'), { default_port: 3389 });
});

// Updating

const STALE = / not found or incorrect version provided\.$/;

const unchangeable: [why: string, change: object, fields: Record<string, string>][] = [
  ['only a version', {}, { update_mask: 'No valid paths provided in the update mask.' }],
  [
    'what cannot be changed',
    { type: 'tcp', scope_id: project, scope: {}, authorized_actions: [] },
    { update_mask: 'No valid paths provided in the update mask.' },
  ],
  ['name null', { name: null }, { name: 'This field cannot be set to empty.' }],
  ['name empty', { name: '' }, { name: 'This field cannot be set to empty.' }],
  ['port null', { attributes: { default_port: null } }, { 'attributes.default_port': REQUIRED }],
  [
    'port 0',
    { attributes: { default_port: 0 } },
    { 'attributes.default_port': 'This cannot be set to zero.' },
  ],
  [
    'no seconds',
    { session_max_seconds: 0 },
    { session_max_seconds: 'This must be greater than zero.' },
  ],
  [
    'no connections',
    { session_connection_limit: 0 },
    { session_connection_limit: 'This must be -1 (unlimited) or greater than zero.' },
  ],
  [
    'fewer than unlimited',
    { session_connection_limit: -2 },
    { session_connection_limit: 'This must be -1 (unlimited) or greater than zero.' },
  ],
  ['another type', { type: 'ssh', name: 'x' }, { type: 'Cannot modify the resource type.' }],
  [
    'aliases',
    { with_aliases: [{ scope_id: 'global', value: 'x.example' }] },
    { with_aliases: 'This field can only be set at target creation time.' },
  ],
  [
    'both filters',
    { worker_filter: 'type == "a"', egress_worker_filter: 'type == "a"' },
    {
      egress_worker_filter:
        'Cannot set worker_filter and egress_worker_filter; they are mutually exclusive fields.',
    },
  ],
  [
    'an id',
    { id: 'ttcp_1', name: 'x' },
    {
      id: 'This is a read only field and cannot be specified in an update request.',
    },
  ],
  ['an unknown field', { made_up: 1 }, { made_up: 'There is no such field.' }],
  ['an unknown attribute', { attributes: { x: 1 } }, { attributes: FORMAT }],
];

for (const [why, change, fields] of unchangeable) {
  test(`no target is changed: ${why}, refused, and nothing is changed`, async () => {
    const before = await newTarget();
    const id = before.textAt('id');
    const answer = await admin('PATCH', `targets/${id}`, { version: 1, ...change });
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), fields);
    assert.equal((await admin('GET', `targets/${id}`)).text, before.text);
  });
}

test('a version is needed', async () => {
  const id = await idOf();
  for (const body of [{ name: 'x' }, { name: 'x', version: 0 }, { name: 'x', version: null }]) {
    const answer = await admin('PATCH', `targets/${id}`, body);
    assert.deepEqual(refusedFields(answer), {
      version: 'Existing resource version is required for an update.',
    });
  }
});

test('a wrong version changes nothing, not even the address', async () => {
  const before = await newTarget();
  const id = before.textAt('id');
  for (const version of [2, 99]) {
    const answer = await admin('PATCH', `targets/${id}`, { version, address: '10.0.0.1' });
    assert.equal(answer.status, 404);
    assert.equal(answer.textAt('kind'), 'NotFound');
    assert.match(answer.textAt('message'), STALE);
  }
  assert.equal((await admin('GET', `targets/${id}`)).text, before.text);
  const unknown = await admin('PATCH', 'targets/ttcp_unknown', { version: 1, name: 'x' });
  assert.equal(unknown.status, 404);
});

test('only what is named changes, one version and a moment later', async () => {
  const before = await newTarget({
    description: 'as before',
    session_max_seconds: 60,
    session_connection_limit: 3,
    attributes: { default_port: 22, default_client_port: 2222 },
  });
  const id = before.textAt('id');
  const name = newName();
  const renamed = await admin('PATCH', `targets/${id}`, { version: 1, name, type: 'tcp' });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.field('version'), 2);
  assert.equal(renamed.textAt('name'), name);
  assert.equal(renamed.textAt('description'), 'as before');
  assert.ok(renamed.textAt('updated_time') > before.textAt('updated_time'));
  assert.equal(renamed.textAt('created_time'), before.textAt('created_time'));
  const cleared = await admin('PATCH', `targets/${id}`, {
    version: 2,
    description: null,
    session_max_seconds: null,
    session_connection_limit: null,
    attributes: { default_client_port: null },
  });
  assert.equal(cleared.field('description'), undefined);
  assert.equal(cleared.field('session_max_seconds'), 28_800);
  assert.equal(cleared.field('session_connection_limit'), -1);
  assert.deepEqual(cleared.field('attributes'), { default_port: 22 });
  const limited = await admin('PATCH', `targets/${id}`, {
    version: 3,
    session_connection_limit: -1,
  });
  assert.equal(limited.field('version'), 4, 'a change to what it was is a change');
});

test('the mask of the query takes the place of the body', async () => {
  const id = await idOf({ description: 'as before' });
  const name = newName();
  const body = { version: 1, name, description: 'new', session_max_seconds: 5 };
  const answer = await admin('PATCH', `targets/${id}?update_mask=name,%20type`, body);
  assert.equal(answer.textAt('name'), name);
  assert.equal(answer.textAt('description'), 'as before');
  assert.equal(answer.field('session_max_seconds'), 28_800);
  const cleared = await admin('PATCH', `targets/${id}?update_mask=description`, { version: 2 });
  assert.equal(cleared.field('description'), undefined);
});

test('an old worker filter goes before a new one comes', async () => {
  const id = await idOf();
  const first = await admin('PATCH', `targets/${id}`, { version: 1, worker_filter: 'a == "b"' });
  assert.equal(first.textAt('worker_filter'), 'a == "b"');
  const both = await admin('PATCH', `targets/${id}`, {
    version: 2,
    egress_worker_filter: 'a == "b"',
  });
  assert.deepEqual(Object.keys(refusedFields(both)), ['egress_worker_filter']);
  const body = { version: 2, worker_filter: null };
  assert.equal((await admin('PATCH', `targets/${id}`, body)).status, 200);
  const then = await admin('PATCH', `targets/${id}`, {
    version: 3,
    egress_worker_filter: 'a == "b"',
  });
  assert.equal(then.textAt('egress_worker_filter'), 'a == "b"');
});

// Address and host sources

test('a target has an address or host sources, never both', async () => {
  const id = await idOf({ address: '10.0.0.1' });
  for (const change of ['add', 'set']) {
    const body = { version: 1, host_source_ids: [hostSet] };
    const answer = await admin('POST', `targets/${id}:${change}-host-sources`, body);
    assert.equal(answer.status, 400);
    assert.equal(answer.textAt('kind'), 'FailedPrecondition');
    assert.equal(
      answer.textAt('message'),
      `unable to ${change} host sources because a network address is directly assigned to the given target`,
    );
  }
  const cleared = await admin('PATCH', `targets/${id}`, { version: 1, address: null });
  assert.equal(cleared.field('address'), '');
  const added = await admin('POST', `targets/${id}:add-host-sources`, {
    version: 2,
    host_source_ids: [hostSet],
  });
  assert.equal(added.status, 200);
  assert.equal(added.field('address'), '');
  const address = { version: 3, address: '10.0.0.2' };
  const refused = await admin('PATCH', `targets/${id}`, address);
  assert.equal(refused.textAt('kind'), 'FailedPrecondition');
  assert.match(
    refused.textAt('message'),
    /^unable to set address because one or more host sources/,
  );
  await admin('POST', `targets/${id}:remove-host-sources`, {
    version: 3,
    host_source_ids: [hostSet],
  });
  const set = await admin('PATCH', `targets/${id}`, { ...address, version: 4 });
  assert.equal(set.textAt('address'), '10.0.0.2');
  const again = await admin('GET', `targets/${id}`);
  assert.equal(again.field('host_source_ids'), undefined);
});

test('an address and a host source sent at once end up as one of them', async () => {
  for (let round = 0; round < 8; round++) {
    const id = await idOf();
    const [address, source] = await Promise.all([
      admin('PATCH', `targets/${id}`, { version: 1, address: '10.0.0.1' }),
      admin('POST', `targets/${id}:add-host-sources`, { version: 1, host_source_ids: [hostSet] }),
    ]);
    assert.equal([address, source].filter(({ status }) => status === 200).length, 1);
    const found = await admin('GET', `targets/${id}`);
    assert.notEqual(found.field('address') === '', found.field('host_source_ids') === undefined);
  }
});

// Verbs of sources

test('host sources are added once, replaced and removed, one version at a time', async () => {
  const id = await idOf();
  const verb = (change: string, version: number, host_source_ids: string[]): Promise<Reply> =>
    admin('POST', `targets/${id}:${change}-host-sources`, { version, host_source_ids });
  const added = await verb('add', 1, [hostSet, hostSet]);
  assert.deepEqual(added.field('host_source_ids'), [hostSet]);
  assert.deepEqual(added.field('host_sources'), [{ id: hostSet, host_catalog_id: catalog }]);
  assert.equal(added.field('version'), 2);
  const set = await verb('set', 2, [otherSet]);
  assert.deepEqual(set.field('host_source_ids'), [otherSet]);
  const removed = await verb('remove', 3, [otherSet]);
  assert.equal(removed.status, 200);
  assert.equal(removed.field('host_source_ids'), undefined);
  const cleared = await verb('set', 4, []);
  assert.equal(cleared.status, 200);
  assert.equal(cleared.field('version'), 5);
});

const IN_FIELDS = 'Errors in provided fields.';

test('host sources that cannot be are named, and nothing is changed', async () => {
  const id = await idOf();
  await admin('POST', `targets/${id}:add-host-sources`, { version: 1, host_source_ids: [hostSet] });
  const before = await admin('GET', `targets/${id}`);
  const rows: [change: string, ids: string[] | undefined, because: RegExp][] = [
    ['add', [hostSet], new RegExp(`"${hostSet}"`)],
    ['add', [], /^Must be non-empty\.$/],
    ['add', undefined, /^Must be non-empty\.$/],
    ['remove', [], /^Must be non-empty\.$/],
    ['add', ['incorrect'], /^Incorrectly formatted host source identifier "incorrect"\.$/],
    ['set', ['ttcp_1234567890'], /^Incorrectly formatted host source identifier/],
    ['remove', [otherSet], new RegExp(`"${otherSet}"`)],
    ['add', ['hsst_unknown'], /"hsst_unknown"/],
    ['set', [otherSet, 'hsst_unknown'], /"hsst_unknown"/],
    ['add', [foreignSet], new RegExp(`"${foreignSet}"`)],
    ['set', [foreignSet], new RegExp(`"${foreignSet}"`)],
    ['set', [hostSet, foreignSet], new RegExp(`"${foreignSet}"`)],
  ];
  for (const [change, host_source_ids, because] of rows) {
    const body = { version: 2, host_source_ids };
    const answer = await admin('POST', `targets/${id}:${change}-host-sources`, body);
    assert.equal(answer.status, 400, `${change} ${host_source_ids}`);
    assert.equal(answer.textAt('kind'), 'InvalidArgument');
    assert.equal(answer.textAt('message'), IN_FIELDS);
    assert.match(refusedFields(answer).host_source_ids ?? '', because);
  }
  assert.equal((await admin('GET', `targets/${id}`)).text, before.text);
});

test('verbs look at the id and the version first', async () => {
  const id = await idOf();
  for (const verb of ['add-host-sources', 'set-host-sources', 'remove-credential-sources']) {
    const none = await admin('POST', `targets/j_1:${verb}`, {});
    const said = refusedFields(none);
    assert.equal(said.id, 'Incorrectly formatted identifier.');
    assert.equal(said.version, 'Required field.');
  }
  for (const change of ['add', 'set', 'remove']) {
    const body = { version: 3, host_source_ids: [hostSet] };
    const answer = await admin('POST', `targets/${id}:${change}-host-sources`, body);
    assert.equal(answer.status, 404);
    assert.match(answer.textAt('message'), STALE);
  }
});

const BOTH = 'Brokered or Injected Application Credential Source IDs must be provided.';
const SOURCE = (id: string): string =>
  `Incorrectly formatted credential source identifier "${id}".`;

const sources: [why: string, change: string, body: object, fields: Record<string, string>][] = [
  [
    'nothing added',
    'add',
    {},
    { brokered_credential_source_ids: BOTH, injected_application_credential_source_ids: BOTH },
  ],
  [
    'nothing removed',
    'remove',
    { brokered_credential_source_ids: [] },
    { brokered_credential_source_ids: BOTH, injected_application_credential_source_ids: BOTH },
  ],
  [
    'certificates are not for brokering',
    'add',
    { brokered_credential_source_ids: ['clvsclt_1'] },
    { brokered_credential_source_ids: SOURCE('clvsclt_1') },
  ],
  [
    'documents are not for injecting',
    'add',
    { injected_application_credential_source_ids: ['credjson_1'] },
    { injected_application_credential_source_ids: SOURCE('credjson_1') },
  ],
  [
    'passwords alone are not for injecting',
    'set',
    { injected_application_credential_source_ids: ['credp_1'] },
    { injected_application_credential_source_ids: SOURCE('credp_1') },
  ],
  [
    'what is no source',
    'set',
    { brokered_credential_source_ids: ['hsst_1'] },
    { brokered_credential_source_ids: SOURCE('hsst_1') },
  ],
];

for (const [why, change, body, fields] of sources) {
  test(`credential sources are refused: ${why}`, async () => {
    const id = await idOf();
    const path = `targets/${id}:${change}-credential-sources`;
    const answer = await admin('POST', path, { version: 1, ...body });
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), fields);
  });
}

test('of 64 changes with the same version exactly one is made', async () => {
  const id = await idOf();
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, at) =>
      admin('PATCH', `targets/${id}`, { version: 1, description: `writer ${at}` }),
    ),
  );
  const won = answers.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  for (const answer of answers) if (answer !== won[0]) assert.equal(answer.status, 404);
  const found = await admin('GET', `targets/${id}`);
  assert.equal(found.field('version'), 2);
  assert.equal(found.textAt('description'), won[0]?.textAt('description'));
});

test('a target is deleted once', async () => {
  const id = await idOf();
  const gone = await admin('DELETE', `targets/${id}`);
  assert.equal(gone.status, 204);
  assert.equal(gone.text, '');
  assert.equal((await admin('DELETE', `targets/${id}`)).status, 404);
  assert.equal((await admin('GET', `targets/${id}`)).status, 404);
  const malformed = await admin('DELETE', 'targets/j_1');
  assert.deepEqual(refusedFields(malformed), { id: 'Incorrectly formatted identifier.' });
});

test('what may be done is said of each target, and what grants show is all that is shown', async () => {
  const id = await idOf();
  const person = await broker.person([
    `ids=${id};actions=update;output_fields=id,version,authorized_actions`,
  ]);
  const changed = await person.call('PATCH', `targets/${id}`, { version: 1, description: 'd' });
  assert.equal(changed.status, 200);
  assert.deepEqual(Object.keys(changed.field('') ?? JSON.parse(changed.text)).sort(), [
    'authorized_actions',
    'id',
    'version',
  ]);
  const other = await idOf();
  assert.equal(
    (await person.call('PATCH', `targets/${other}`, { version: 1, name: 'x' })).status,
    403,
  );
  assert.equal((await nobody('PATCH', `targets/${other}`, { version: 1, name: 'x' })).status, 401);
});
