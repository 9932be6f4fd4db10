import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

// Texts that are made to take long to read, one request each, by somebody who may do it. What a
// request takes is counted in the processor time of the thread that serves everybody.

const broker = await startBroker({ after });
const { admin, project } = broker;

const store = await broker.make('credential-stores', { scope_id: project, type: 'static' });
const target = 'ttcp_1234567890';
for (let at = 0; at < 60; at++) {
  const attributes = { default_port: 22 };
  await broker.make('targets', { scope_id: project, type: 'tcp', name: `many-${at}`, attributes });
}

const worker = await broker.make('workers:create:controller-led', {
  scope_id: 'global',
  name: 'w',
});
const role = await broker.make('roles', { scope_id: 'global' });
const group = await broker.make('groups', { scope_id: 'global' });
const user = await broker.make('users', { scope_id: 'global' });
const catalog = await broker.make('host-catalogs', { scope_id: project, type: 'static' });
const set = await broker.make('host-sets', { host_catalog_id: catalog });

const MOST_MS = 500;

/** What is sent is refused, so that it can be sent again. */
async function timed(send: () => Promise<Reply>): Promise<Reply> {
  let answer: Reply | undefined;
  await holdBounds({ request: MOST_MS }, async () => ({
    request: await cpuUntil(async () => {
      answer = await send();
    }),
  }));
  assert.ok(answer);
  return answer;
}

const nested = (inner: string): string =>
  `any item as a { any item as b { any item as c { ${inner} } } }`;
const many = (count: number, part: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(' or ');

const filters: [why: string, filter: string][] = [
  [
    'patterns that become large',
    many(7, () => `"/item/name" matches "(${'a'.repeat(1300)}){1000}"`),
  ],
  ['many rounds with small patterns', nested(many(40, (at) => `c matches "x${at}y"`))],
  ['many rounds with comparisons', nested(many(280, (at) => `c == v${at}`))],
  ['as long a filter as a path may have', 'a+'.repeat(3_900)],
];

for (const [why, filter] of filters) {
  test(`a list with a filter that costs much is refused by its field: ${why}`, async () => {
    const path = `targets?scope_id=${project}&filter=${encodeURIComponent(filter)}`;
    const answer = await timed(() => admin('GET', path));
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(Object.keys(refusedFields(answer)), ['filter']);
  });
}

test('a filter that costs little is answered, also with rounds and patterns', async () => {
  const filter = nested('a == "name" and item.name matches "^many-[0-9]+$"');
  const path = `targets?scope_id=${project}&filter=${encodeURIComponent(filter)}`;
  const answer = await timed(() => admin('GET', path));
  assert.equal((answer.field('items') as unknown[]).length, 60);
});

test('filters of a target are refused by their field', async () => {
  const filter = `"/name" matches "(${'a'.repeat(900)}){900}"`;
  const version = (await admin('GET', `targets/${target}`)).field('version');
  for (const field of ['worker_filter', 'egress_worker_filter']) {
    const answer = await timed(() =>
      admin('PATCH', `targets/${target}`, { version, [field]: filter }),
    );
    assert.deepEqual(Object.keys(refusedFields(answer)), [field]);
  }
});

test('a library of a store that has none is refused in no time', async () => {
  for (const attributes of [
    { role: 'r', common_name: 'x', ttl: `${'1'.repeat(40)}!` },
    { path: `{{coalesce${'``'.repeat(400_000)}}}` },
    { path: `{{${'('.repeat(500_000)}` },
  ]) {
    for (const credential_store_id of [store, 'csca_1234567890', 'csvlt_1234567890']) {
      const send = (call: typeof admin) =>
        timed(() => call('POST', 'credential-libraries', { credential_store_id, attributes }));
      assert.ok([400, 404].includes((await send(admin)).status));
      assert.ok([400, 401, 403, 404].includes((await send(broker.nobody)).status));
    }
  }
});

const MOST = 70_000;
const numbered = (prefix: string, count = MOST): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

const lists: [path: string, verbs: string, field: string, values: unknown][] = [
  [`workers/${worker}`, 'worker-tags', 'api_tags', { k: numbered('v') }],
  [
    `workers/${worker}`,
    'worker-tags',
    'api_tags',
    Object.fromEntries(numbered('k', 9_000).map((k) => [k, ['v']])),
  ],
  [`roles/${role}`, 'principals', 'principal_ids', numbered('u_')],
  [
    `roles/${role}`,
    'grants',
    'grant_strings',
    numbered('ids=ttcp_', 30_000).map((id) => `${id};actions=read`),
  ],
  [
    `roles/${role}`,
    'grants',
    'grant_strings',
    [`ids=${numbered('ttcp_', 80_000).join(',')};actions=read`],
  ],
  [`roles/${role}`, 'grant-scopes', 'grant_scope_ids', numbered('p_')],
  [`groups/${group}`, 'members', 'member_ids', numbered('u_')],
  [`users/${user}`, 'accounts', 'account_ids', numbered('acctpw_', 70_000)],
  [`host-sets/${set}`, 'hosts', 'host_ids', numbered('hst_')],
  [`targets/${target}`, 'host-sources', 'host_source_ids', numbered('hsst_')],
  [
    `targets/${target}`,
    'credential-sources',
    'brokered_credential_source_ids',
    numbered('credup_', 70_000),
  ],
  [
    `targets/${target}`,
    'credential-sources',
    'injected_application_credential_source_ids',
    numbered('credup_', 70_000),
  ],
];

for (const [path, verbs, field, values] of lists) {
  for (const change of ['add', 'set', 'remove']) {
    test(`${change} ${verbs} with as many as a body can hold is refused by ${field}`, async () => {
      const version = (await admin('GET', path)).field('version');
      const send = () => admin('POST', `${path}:${change}-${verbs}`, { version, [field]: values });
      const answer = await timed(send);
      assert.equal(answer.status, 400, answer.text.slice(0, 300));
      assert.deepEqual(Object.keys(refusedFields(answer)), [field]);
    });
  }
}

test('as many ids as a request may name are looked up, linked and taken away', async () => {
  const members = numbered('u_', 2_000);
  const path = `groups/${group}`;
  const version = (await admin('GET', path)).field('version');
  const unknown = await timed(() =>
    admin('POST', `${path}:set-members`, { version, member_ids: members }),
  );
  assert.match(refusedFields(unknown).member_ids ?? '', /^There is no user/);
});

const long = 'x'.repeat(700_000);
const texts: [path: string, body: object, field: string][] = [
  [
    'credential-stores',
    { scope_id: project, type: 'authority', attributes: { mount: `x${'/'.repeat(900_000)}x` } },
    'attributes.mount',
  ],
  [
    'credential-stores',
    { scope_id: project, type: 'vault', attributes: { address: `http://${long}`, token: 't' } },
    'attributes.address',
  ],
  [
    'credential-stores',
    { scope_id: project, type: 'vault', attributes: { address: 'http://a', token: long } },
    'attributes.token',
  ],
  [
    'credentials',
    {
      credential_store_id: store,
      type: 'username_password',
      attributes: { username: long, password: 'p' },
    },
    'attributes.username',
  ],
  [
    'credentials',
    { credential_store_id: store, type: 'password', attributes: { password: long } },
    'attributes.password',
  ],
  [
    'credentials',
    {
      credential_store_id: store,
      type: 'ssh_private_key',
      attributes: { username: 'u', private_key: '-----BEGIN A-----\n'.repeat(40_000) },
    },
    'attributes.private_key',
  ],
  ['aliases', { scope_id: 'global', type: 'target', value: 'a.'.repeat(350_000) }, 'value'],
  [
    'hosts',
    { host_catalog_id: catalog, attributes: { address: ' '.repeat(700_000) } },
    'attributes.address',
  ],
  [
    'accounts',
    { auth_method_id: broker.auth_method, attributes: { login_name: 'a', password: long } },
    'attributes.login_name',
  ],
  [
    'accounts',
    { auth_method_id: broker.auth_method, attributes: { login_name: 'long', password: long } },
    'attributes.password',
  ],
  [
    'targets',
    {
      scope_id: project,
      type: 'tcp',
      name: 'a',
      attributes: { default_port: 1 },
      with_aliases: numbered('a', 4_000).map((value) => ({ value, scope_id: 'global' })),
    },
    'with_aliases',
  ],
  [
    'targets',
    { scope_id: project, type: 'ssh', name: 'a', attributes: { storage_bucket_id: long } },
    'attributes.storage_bucket_id',
  ],
  ['scopes', { scope_id: 'global', name: ' '.repeat(700_000) }, 'name'],
  ['scopes', { scope_id: 'global', description: `${' '.repeat(700_000)}\u0000` }, 'description'],
];

for (const [plural, body, field] of texts) {
  test(`${plural} with a text of nearly a megabyte are refused by ${field}`, async () => {
    const answer = await timed(() => admin('POST', plural, body));
    assert.equal(answer.status, 400, answer.text.slice(0, 300));
    assert.deepEqual(Object.keys(refusedFields(answer)), [field]);
  });
}
