import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listedIds, refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, project, org, make } = broker;

const newCatalog = (scope_id = project): Promise<string> =>
  make('host-catalogs', { scope_id, type: 'static' });
const catalog = await newCatalog();
const otherCatalog = await newCatalog();
const newHost = (host_catalog_id = catalog): Promise<string> =>
  make('hosts', { host_catalog_id, attributes: { address: '10.0.0.1' } });
const newSet = (host_catalog_id = catalog): Promise<string> =>
  make('host-sets', { host_catalog_id });
const FORMAT = 'Attribute fields do not match the expected format.';

// Catalogs

const PROJECT = 'This field must be a valid project scope id.';
const TYPE = 'This is a required field and must be either "static" or "plugin".';
const uncatalogued: [body: object, fields: Record<string, string>][] = [
  [{ scope_id: project }, { type: TYPE }],
  [{ scope_id: project, type: '' }, { type: TYPE }],
  [{ scope_id: project, type: 'made-up' }, { type: TYPE }],
  [{ scope_id: org, type: 'static' }, { scope_id: PROJECT }],
  [{ scope_id: 'global', type: 'static' }, { scope_id: PROJECT }],
  [{ type: 'static' }, { scope_id: PROJECT }],
  [{ scope_id: 'x' }, { scope_id: PROJECT, type: TYPE }],
  [{ scope_id: project, type: 'static', attributes: { x: 1 } }, { attributes: FORMAT }],
];

for (const [body, fields] of uncatalogued) {
  test(`no catalog is made of ${JSON.stringify(body)}`, async () => {
    const answer = await admin('POST', 'host-catalogs', body);
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), fields);
  });
}

test('catalogs of plugins are refused by name, in every spelling of the request', async () => {
  for (const query of ['', '?plugin_name=aws']) {
    const body = { scope_id: project, type: 'plugin' };
    const answer = await admin('POST', `host-catalogs${query}`, body);
    assert.equal(answer.status, 400);
    assert.match(refusedFields(answer).type ?? '', /not available in this version/);
  }
});

test('a catalog says what can be made in it', async () => {
  const answer = await admin('GET', `host-catalogs/${catalog}`);
  assert.equal(answer.textAt('type'), 'static');
  assert.deepEqual(answer.field('authorized_collection_actions'), {
    'host-sets': ['create', 'list'],
    hosts: ['create', 'list'],
  });
});

test('catalogs are listed of a project, or of all that lies beneath', async () => {
  const list = await admin('GET', `host-catalogs?scope_id=${project}`);
  assert.ok(listedIds(list).includes(catalog));
  const refused = await admin('GET', `host-catalogs?scope_id=${org}`);
  assert.deepEqual(refusedFields(refused), {
    scope_id:
      'This field must be a valid project scope ID or the list operation must be recursive.',
  });
  const deep = await admin('GET', `host-catalogs?scope_id=${org}&recursive=true`);
  assert.ok(listedIds(deep).includes(catalog));
});

// Hosts

const REQUIRED = 'This is a required field.';
const ADDRESS = 'attributes.address';
const LENGTH = 'Address length must be between 3 and 255 characters.';
const PORT = 'Address for static hosts does not support a port.';
const at = (address: unknown): object => ({ attributes: { address } });
const unmade: [why: string, body: object, field: string, because: string | RegExp][] = [
  ['no attributes', { attributes: undefined }, 'attributes', REQUIRED],
  ['null for attributes', { attributes: null }, 'attributes', REQUIRED],
  ['no address', { attributes: {} }, ADDRESS, LENGTH],
  ['an address to null', at(null), ADDRESS, LENGTH],
  ['two characters', at('ab'), ADDRESS, LENGTH],
  ['256 characters', at('a'.repeat(256)), ADDRESS, LENGTH],
  ['a port', at('10.0.0.1:22'), ADDRESS, PORT],
  ['what is no address', at('[2001:beef::1]'), ADDRESS, /^Error parsing address: .+\.$/],
  ['an address that is a number', at(10), 'attributes', FORMAT],
  ['an unknown attribute', { attributes: { address: '10.0.0.1', x: 1 } }, 'attributes', FORMAT],
  [
    'another type than the catalog',
    { type: 'plugin', ...at('10.0.0.1') },
    'type',
    "Doesn't match the parent resource's type.",
  ],
  [
    'no catalog',
    { host_catalog_id: undefined, ...at('10.0.0.1') },
    'host_catalog_id',
    'This field must be a valid id.',
  ],
  [
    'a host for a catalog',
    { host_catalog_id: 'hst_1', ...at('10.0.0.1') },
    'host_catalog_id',
    'This field must be a valid id.',
  ],
  [
    'a catalog of plugins',
    { host_catalog_id: 'hcplg_1234567890', ...at('10.0.0.1') },
    'host_catalog_id',
    'Cannot manually create hosts for this type of catalog.',
  ],
];

for (const [why, body, field, because] of unmade) {
  test(`no host is made: ${why}`, async () => {
    const answer = await admin('POST', 'hosts', { host_catalog_id: catalog, ...body });
    assert.equal(answer.status, 400, answer.text);
    const said = refusedFields(answer);
    assert.deepEqual(Object.keys(said), [field]);
    if (because instanceof RegExp) assert.match(said[field] ?? '', because);
    else assert.equal(said[field], because);
  });
}

test('a host has an address, which can be changed and never be none', async () => {
  const made = await admin('POST', 'hosts', {
    host_catalog_id: catalog,
    type: 'static',
    attributes: { address: ' 2001:BEEF:0:0:0:1:0:0001 ' },
  });
  assert.equal(made.textAt('attributes.address'), '2001:beef::1:0:1');
  assert.equal(made.textAt('host_catalog_id'), catalog);
  assert.equal(made.textAt('type'), 'static');
  const id = made.textAt('id');
  const patch = (version: number, body: object): Promise<Reply> =>
    admin('PATCH', `hosts/${id}`, { version, ...body });
  const changed = await patch(1, { attributes: { address: 'db.example.com' } });
  assert.equal(changed.textAt('attributes.address'), 'db.example.com');
  const named = await patch(2, { name: 'x' });
  assert.equal(named.textAt('attributes.address'), 'db.example.com');
  for (const address of [null, '', 'a:1']) {
    const answer = await patch(3, { attributes: { address } });
    assert.equal(answer.status, 400);
    assert.deepEqual(Object.keys(refusedFields(answer)), [ADDRESS]);
  }
  const moved = await patch(3, { host_catalog_id: otherCatalog });
  assert.deepEqual(Object.keys(refusedFields(moved)), ['update_mask']);
  const unknown = { host_catalog_id: 'hcst_unknown', attributes: { address: '10.0.0.1' } };
  assert.equal((await admin('POST', 'hosts', unknown)).status, 404);
});

// Host sets

const link = (id: string, change: string, version: number, host_ids: unknown): Promise<Reply> =>
  admin('POST', `host-sets/${id}:${change}-hosts`, { version, host_ids });

test('what only sets of plugins have is refused of the others', async () => {
  const id = await newSet();
  const NOT_HERE = 'This field is not supported for this host set type.';
  const rows: [body: object, fields: Record<string, string>][] = [
    [{ preferred_endpoints: ['cidr:10.0.0.0/8'] }, { preferred_endpoints: NOT_HERE }],
    [{ sync_interval_seconds: 5 }, { sync_interval_seconds: NOT_HERE }],
    [{ host_ids: ['hst_1'] }, { host_ids: 'This is a read only field.' }],
  ];
  for (const [body, fields] of rows) {
    const made = await admin('POST', 'host-sets', { host_catalog_id: catalog, ...body });
    assert.deepEqual(refusedFields(made), fields);
    const changed = await admin('PATCH', `host-sets/${id}`, { version: 1, name: 'x', ...body });
    assert.deepEqual(refusedFields(changed), fields);
  }
});

test('hosts are added once, replaced and taken away, one version at a time', async () => {
  const id = await newSet();
  const [a, b] = [await newHost(), await newHost()];
  const added = await link(id, 'add', 1, [a, a]);
  assert.deepEqual(added.field('host_ids'), [a]);
  assert.equal(added.field('version'), 2);
  assert.deepEqual((await admin('GET', `hosts/${a}`)).field('host_set_ids'), [id]);
  const set = await link(id, 'set', 2, [b, a]);
  assert.deepEqual(set.field('host_ids'), [a, b].sort());
  const one = await link(id, 'remove', 3, [a]);
  assert.deepEqual(one.field('host_ids'), [b]);
  const none = await link(id, 'set', 4, []);
  assert.equal(none.field('host_ids'), undefined);
  assert.equal(none.field('version'), 5);
  assert.equal((await admin('GET', `hosts/${a}`)).field('host_set_ids'), undefined);
});

test('hosts that cannot be in a set are named, and nothing is changed', async () => {
  const id = await newSet();
  const [own, free, foreign] = [await newHost(), await newHost(), await newHost(otherCatalog)];
  await link(id, 'add', 1, [own]);
  const before = await admin('GET', `host-sets/${id}`);
  const FORM = 'Incorrectly formatted host identifier.';
  const nowhere = (host: string): string => `There is no host "${host}" in the host set's catalog.`;
  const rows: [change: string, ids: unknown, because: string][] = [
    ['add', [], 'Must be non-empty.'],
    ['remove', undefined, 'Must be non-empty.'],
    ['add', ['x'], FORM],
    ['set', ['hsst_1234567890'], FORM],
    ['add', ['hplg_1234567890'], FORM],
    ['add', [own], `"${own}" is there already.`],
    ['remove', [free], `"${free}" is not there.`],
    ['remove', [foreign], `"${foreign}" is not there.`],
    ...['add', 'set'].flatMap((change): [string, unknown, string][] => [
      [change, [foreign], nowhere(foreign)],
      [change, [free, foreign], nowhere(foreign)],
      [change, ['hst_unknown'], nowhere('hst_unknown')],
    ]),
  ];
  for (const [change, ids, because] of rows) {
    const answer = await link(id, change, 2, ids);
    assert.equal(answer.status, 400, `${change} ${ids}`);
    assert.equal(answer.textAt('kind'), 'InvalidArgument');
    assert.deepEqual(refusedFields(answer), { host_ids: because });
  }
  for (const change of ['add', 'set', 'remove']) {
    assert.equal((await link(id, change, 1, [free])).status, 404);
  }
  assert.equal((await admin('GET', `host-sets/${id}`)).text, before.text);
});

test('the hosts of a set of plugins are not chosen by hand', async () => {
  for (const change of ['add', 'set', 'remove']) {
    const answer = await link('hsplg_1234567890', change, 1, ['hst_1']);
    assert.equal(answer.status, 400);
    assert.deepEqual(Object.keys(refusedFields(answer)), ['id']);
  }
});

test('a host that goes leaves its sets; a set that goes leaves its targets', async () => {
  const set = await newSet();
  const [stays, goes] = [await newHost(), await newHost()];
  await link(set, 'add', 1, [stays, goes]);
  const target = await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: 'through a set',
    attributes: { default_port: 22 },
  });
  const body = { version: 1, host_source_ids: [set] };
  await admin('POST', `targets/${target}:add-host-sources`, body);
  assert.equal((await admin('DELETE', `hosts/${goes}`)).status, 204);
  const left = await admin('GET', `host-sets/${set}`);
  assert.deepEqual(left.field('host_ids'), [stays]);
  assert.equal((await admin('DELETE', `host-sets/${set}`)).status, 204);
  const bare = await admin('GET', `targets/${target}`);
  assert.equal(bare.status, 200);
  assert.equal(bare.field('host_source_ids'), undefined);
  assert.equal((await admin('GET', `hosts/${stays}`)).field('host_set_ids'), undefined);
});

test('with a catalog go its hosts and sets', async () => {
  const id = await newCatalog();
  const host = await newHost(id);
  const set = await newSet(id);
  await link(set, 'add', 1, [host]);
  assert.equal((await admin('DELETE', `host-catalogs/${id}`)).status, 204);
  for (const path of [`hosts/${host}`, `host-sets/${set}`, `host-catalogs/${id}`]) {
    assert.equal((await admin('GET', path)).status, 404, path);
  }
  assert.equal((await admin('GET', `hosts?host_catalog_id=${id}`)).status, 404);
});

test('a host that goes while it is added is in no set afterwards', async () => {
  for (let round = 0; round < 8; round++) {
    const set = await newSet();
    const host = await newHost();
    const [added, gone] = await Promise.all([
      link(set, 'add', 1, [host]),
      admin('DELETE', `hosts/${host}`),
    ]);
    assert.equal(gone.status, 204);
    assert.ok([200, 400].includes(added.status), added.text);
    assert.equal((await admin('GET', `host-sets/${set}`)).field('host_ids'), undefined);
  }
});
