import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemCaller } from '../../src/access/system-caller.ts';
import { decodeAuthorizationToken } from '../../src/broker/sessions/authorization-token.ts';
import {
  activateSession,
  lookUpSession,
} from '../../src/broker/sessions/connections/carried-session.operations.ts';
import {
  authorizeConnection,
  closeConnections,
  connectConnection,
  noteTraffic,
} from '../../src/broker/sessions/connections/operations.ts';
import { planDue } from '../../src/broker/sessions/termination.operations.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { logIn, makeProject, type Person } from '../support/broker.ts';
import { callOver, type Reply, startTestServer } from '../support/server.ts';

let shift_ms = 0;
// The job that ends what is canceled is run where it is due, not on a timer beside the tests.
const server = await startTestServer({ after }, { now: () => Date.now() + shift_ms, jobs: [] });
const { app } = server.running;
const project = await makeProject(server);
const { admin } = project;

async function make(path: string, body: object): Promise<string> {
  const reply = await admin.call('POST', path, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.textAt('id');
}

let named = 0;

const makeTarget = (fields: object = {}): Promise<string> => {
  named += 1;
  return make('targets', {
    scope_id: project.id,
    type: 'tcp',
    name: `target ${named}`,
    address: '10.0.0.5',
    attributes: { default_port: 5432 },
    ...fields,
  });
};

/** A target that is reached through one host set with some hosts. */
async function makeHosted(...addresses: readonly string[]) {
  const catalog = await make('host-catalogs', { scope_id: project.id, type: 'static' });
  const set = await make('host-sets', { host_catalog_id: catalog });
  const hosts: string[] = [];
  for (const address of addresses) {
    hosts.push(await make('hosts', { host_catalog_id: catalog, attributes: { address } }));
  }
  await must(`host-sets/${set}:add-hosts`, { version: 1, host_ids: hosts });
  named += 1;
  const target = await make('targets', {
    scope_id: project.id,
    type: 'tcp',
    name: `hosted ${named}`,
    attributes: { default_port: 22 },
  });
  await must(`targets/${target}:add-host-sources`, { version: 1, host_source_ids: [set] });
  return { catalog, set, hosts, target };
}

async function must(path: string, body: object, who: Person = admin): Promise<Reply> {
  const reply = await who.call('POST', path, body);
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  return reply;
}

const authorize = (target: string, body: object = {}, who: Person = admin): Promise<Reply> =>
  who.call('POST', `targets/${target}:authorize-session`, body);

const mustAuthorize = (target: string, body: object = {}, who: Person = admin): Promise<Reply> =>
  must(`targets/${target}:authorize-session`, body, who);

const sessionOf = (reply: Reply): string => reply.textAt('session_id');

const readSession = async (id: string): Promise<Reply> => {
  const reply = await admin.call('GET', `sessions/${id}`);
  assert.equal(reply.status, 200, reply.text);
  return reply;
};

function faults(reply: Reply): Record<string, string> {
  const fields = reply.field('details.request_fields');
  assert.ok(Array.isArray(fields), reply.text);
  return Object.fromEntries(
    fields.map((one: { name: string; description: string }) => [one.name, one.description]),
  );
}

const idsOf = (reply: Reply): string[] =>
  ((reply.field('items') ?? []) as { id: string }[]).map(({ id }) => id);

const worker = { id: 'w_test', name: 'test', tags: {} };
const carrier = () => systemCaller('test', 'worker');
const TOFU = 'abcdefghij0123456789';

/** What the worker does when a client comes with a session. */
async function useSession(session_id: string): Promise<string> {
  const { version } = await lookUpSession(app, worker, session_id);
  await activateSession(app, carrier(), { session_id, tofu_token: TOFU, version });
  const { connection_id } = await authorizeConnection(app, carrier(), {
    session_id,
    worker_id: worker.id,
  });
  await connectConnection(app, carrier(), {
    connection_id,
    worker_id: worker.id,
    client_tcp_address: '127.0.0.1',
    client_tcp_port: 50_123,
    endpoint_tcp_address: '10.0.0.5',
    endpoint_tcp_port: 5432,
  });
  return connection_id;
}

async function runDue(): Promise<void> {
  const page = await planDue(app);
  if (page) await app.store.commit(page.effects);
}

test('a target with an address leads there, and neither host nor host set is named', async () => {
  const target = await makeTarget({ session_max_seconds: 60, session_connection_limit: 3 });
  const reply = await mustAuthorize(target);
  const created = Date.parse(reply.textAt('created_time'));
  assert.match(sessionOf(reply), /^s_[A-Za-z0-9]{10}$/);
  assert.equal(reply.field('target_id'), target);
  assert.equal(reply.field('scope.id'), project.id);
  assert.equal(reply.field('scope.parent_scope_id'), project.org_id);
  assert.equal(reply.field('user_id'), admin.user_id);
  assert.equal(reply.field('type'), 'tcp');
  assert.equal(reply.field('connection_limit'), 3);
  assert.equal(reply.field('endpoint'), 'tcp://10.0.0.5:5432');
  assert.equal(reply.field('endpoint_port'), 5432);
  assert.equal(Date.parse(reply.textAt('expiration')), created + 60_000);
  for (const absent of ['host_id', 'host_set_id', 'credentials', 'session_recording_id']) {
    assert.equal(reply.field(absent), undefined, absent);
  }
});

test('a host of a target with an address is refused, and no host is not', async () => {
  const target = await makeTarget();
  const refused = await authorize(target, { host_id: 'hst_1234567890' });
  assert.equal(refused.status, 400, refused.text);
  assert.deepEqual(faults(refused), { host_id: 'The requested host id is not available.' });
  await mustAuthorize(target, { host_id: '' });
});

test('the token holds what a proxy needs, and the certificate is the one that is read', async () => {
  const target = await makeTarget({ attributes: { default_port: 22, default_client_port: 8022 } });
  const reply = await mustAuthorize(target);
  const token = decodeAuthorizationToken(reply.textAt('authorization_token'));
  assert.ok(token);
  assert.equal(token.session_id, sessionOf(reply));
  assert.equal(token.target_id, target);
  assert.deepEqual(token.scope, {
    id: project.id,
    type: 'project',
    name: 'project',
    description: '',
    parent_scope_id: project.org_id,
  });
  assert.equal(token.connection_limit, -1);
  assert.equal(token.endpoint_port, 22);
  assert.equal(token.default_client_port, 8022);
  assert.equal(token.endpoint, 'tcp://10.0.0.5:22');
  assert.equal(token.expires_ms, Date.parse(reply.textAt('expiration')));
  assert.match(token.worker_addresses[0] ?? '', /^127\.0\.0\.1:\d+$/);
  const session = await readSession(sessionOf(reply));
  assert.equal(session.field('certificate'), Buffer.from(token.certificate).toString('base64'));
  const certificate = parseCertificate(token.certificate);
  assert.equal(certificate.subjectAltNames?.dns[0], sessionOf(reply));
  assert.equal(certificate.notAfter, Math.floor(token.expires_ms / 1000));
  const carried = await lookUpSession(app, worker, sessionOf(reply));
  assert.deepEqual(Buffer.from(carried.private_key), Buffer.from(token.private_key));
});

for (const [type, endpoint] of [
  ['ssh', 'ssh://[2001:db8::1]:22'],
  ['rdp', 'rdp://[2001:db8::1]:3389'],
] as const) {
  test(`a session of type ${type} says so, and IPv6 addresses stand in brackets`, async () => {
    const target = await makeTarget({ type, attributes: undefined, address: '2001:db8::1' });
    const reply = await mustAuthorize(target);
    assert.equal(reply.field('type'), type);
    assert.equal(reply.field('endpoint'), endpoint);
    assert.equal((await readSession(sessionOf(reply))).field('type'), type);
  });
}

test('a target with host sets leads to one of their hosts, or to the one that is asked for', async () => {
  const { target, set, hosts } = await makeHosted('10.1.0.1', '10.1.0.2', '10.1.0.3');
  const reply = await mustAuthorize(target, { host_id: hosts[1] });
  assert.equal(reply.field('host_id'), hosts[1]);
  assert.equal(reply.field('host_set_id'), set);
  assert.equal(reply.field('endpoint'), 'tcp://10.1.0.2:22');
  const token = decodeAuthorizationToken(reply.textAt('authorization_token'));
  assert.equal(token?.host_id, hosts[1]);
  const session = await readSession(sessionOf(reply));
  assert.equal(session.field('host_id'), hosts[1]);
  const met = new Set<unknown>();
  for (let round = 0; round < 60 && met.size < 3; round += 1) {
    met.add((await mustAuthorize(target)).field('host_id'));
  }
  assert.deepEqual(met, new Set(hosts), 'each of them is met now and then');
  const strange = await authorize(target, { host_id: 'hst_zzzzzzzzzz' });
  assert.equal(strange.status, 400);
  assert.deepEqual(faults(strange), { host_id: 'The requested host id is not available.' });
});

test('a target is found by its name in a scope, also with a slash in it', async () => {
  const name = `web/${named} x`;
  const target = await makeTarget({ name });
  const path = encodeURIComponent(name);
  for (const where of [{ scope_id: project.id }, { scope_name: 'project' }]) {
    const reply = await mustAuthorize(path, { name, ...where });
    assert.equal(reply.field('target_id'), target);
  }
  const none = await authorize(path, { name, scope_id: project.org_id });
  assert.equal(none.status, 404);
  const unknown = await authorize(path, { name, scope_name: 'nowhere' });
  assert.equal(unknown.status, 404);
});

const NAME_NEEDS_SCOPE = 'Scope ID or scope name must be provided when target name is used.';
const ONE_SCOPE = 'Scope ID and scope name cannot both be provided when target name is used.';
const MALFORMED = 'Incorrectly formatted identifier.';

const refusals: [path: string, body: Record<string, string>, fields: Record<string, string>][] = [
  [
    'web',
    { name: 'web', scope_id: 'p_1', scope_name: 'x' },
    { scope_id: ONE_SCOPE, scope_name: ONE_SCOPE },
  ],
  ['a_b', { name: 'a_b' }, { scope_id: NAME_NEEDS_SCOPE, scope_name: NAME_NEEDS_SCOPE }],
  [
    'web',
    { name: 'other', scope_id: 'p_1' },
    { name: 'Target name provided but does not match the given ID value from the URL.' },
  ],
  ['a_b', {}, { id: MALFORMED }],
  [
    'addr',
    { scope_id: 'p_1' },
    { id: MALFORMED, scope_id: 'Scope ID provided when target name was empty.' },
  ],
  [
    'ttcp_1234567890',
    { scope_name: 'x' },
    { scope_id: 'Scope name provided when target name was empty.' },
  ],
  ['ttcp_1234567890', { host_id: 'hsst_1234567890' }, { host_id: MALFORMED }],
];

for (const [path, body, fields] of refusals) {
  test(`${path} with ${JSON.stringify(body)} is refused by ${Object.keys(fields)}`, async () => {
    const reply = await authorize(path, body);
    assert.equal(reply.status, 400, reply.text);
    assert.equal(reply.field('message'), 'Errors in provided fields.');
    assert.deepEqual(faults(reply), fields);
  });
}

test('a scope name that several scopes have is refused', async () => {
  for (const _ of [1, 2]) {
    const org = await make('scopes', { scope_id: 'global' });
    await make('scopes', { scope_id: org, name: 'twin' });
  }
  const reply = await authorize('web', { name: 'web', scope_name: 'twin' });
  assert.equal(reply.status, 400);
  assert.equal(reply.field('kind'), 'FailedPrecondition');
  assert.match(reply.textAt('message'), /ambiguous/);
});

test('an alias leads to its target and its host, and to no other host', async () => {
  const { target, hosts } = await makeHosted('10.2.0.1', '10.2.0.2');
  const [first = '', second = ''] = hosts;
  await make('aliases', {
    scope_id: 'global',
    type: 'target',
    value: 'Db.Example',
    destination_id: target,
    attributes: { authorize_session_arguments: { host_id: second } },
  });
  for (const body of [{}, { host_id: second }]) {
    const reply = await mustAuthorize('db.example', body);
    assert.equal(reply.field('host_id'), second);
    assert.equal(reply.field('target_id'), target);
  }
  const other = await authorize('db.example', { host_id: first });
  assert.equal(other.status, 400);
  assert.deepEqual(faults(other), {
    host_id:
      'The host id specified in the request does not match the one provided by the alias. Consider omitting the host id in the request.',
  });
  assert.equal((await authorize('nothing.example')).status, 404);
});

test('a target without hosts or address is not found', async () => {
  const bare = await makeTarget({ address: undefined });
  const { target, set, hosts } = await makeHosted('10.3.0.1');
  await must(`host-sets/${set}:remove-hosts`, { version: 2, host_ids: hosts });
  for (const id of [bare, target]) {
    const reply = await authorize(id);
    assert.equal(reply.status, 404);
    assert.equal(reply.field('message'), 'No host sources or address found for given target.');
  }
});

test('without a worker that the filter admits nothing is made', async () => {
  const target = await makeTarget({ egress_worker_filter: '"none" in "/tags/nothing"' });
  const before = await app.db.selectFrom('session').select('id').execute();
  const reply = await authorize(target);
  assert.equal(reply.status, 500);
  assert.match(reply.textAt('message'), /have been filtered/);
  const faulty = await makeTarget({ egress_worker_filter: '"/tags" == "x"' });
  const refused = await authorize(faulty);
  assert.equal(refused.status, 400);
  assert.equal(refused.field('kind'), 'FailedPrecondition');
  assert.match(refused.textAt('message'), /^Worker filter expression evaluation resulted in error/);
  const afterwards = await app.db.selectFrom('session').select('id').execute();
  assert.equal(afterwards.length, before.length);
});

test('two calls make two sessions', async () => {
  const target = await makeTarget();
  const all = await Promise.all(Array.from({ length: 8 }, () => mustAuthorize(target)));
  assert.equal(new Set(all.map(sessionOf)).size, 8);
  assert.equal(new Set(all.map((reply) => reply.field('authorization_token'))).size, 8);
});

test('nobody, and whoever repairs, is given no session', async () => {
  const target = await makeTarget();
  const path = `targets/${target}:authorize-session`;
  const unauthenticated = await server.call('POST', path, {}, { token: '' });
  assert.equal(unauthenticated.status, 401);
  const repairer = await server.call('POST', path, {});
  assert.equal(repairer.status, 403);
  assert.equal(repairer.field('message'), 'Forbidden.');
});

test('output fields of grants take nothing out of an authorization, and out of a session', async () => {
  const target = await makeTarget();
  const person = await project.addPerson('narrow', [
    `ids=${target};actions=authorize-session;output_fields=id`,
    'ids=*;type=session;actions=list,read:self,cancel:self;output_fields=id,status',
  ]);
  const reply = await mustAuthorize(target, {}, person);
  assert.ok(reply.textAt('authorization_token'));
  assert.equal(reply.field('endpoint'), 'tcp://10.0.0.5:5432');
  const own = await person.call('GET', `sessions/${sessionOf(reply)}`);
  assert.deepEqual(JSON.parse(own.text), { id: sessionOf(reply), status: 'pending' });
});

test('with :self alone a person sees and cancels what is their own', async () => {
  const target = await makeTarget();
  const person = await project.addPerson('self', [
    `ids=${target};actions=authorize-session`,
    'ids=*;type=session;actions=list,read:self,cancel:self',
  ]);
  const own = sessionOf(await mustAuthorize(target, {}, person));
  const other = sessionOf(await mustAuthorize(target));
  const listed = await person.call('GET', `sessions?scope_id=${project.id}`);
  assert.deepEqual(idsOf(listed), [own]);
  assert.equal((await person.call('GET', `sessions/${other}`)).status, 403);
  assert.equal((await person.call('POST', `sessions/${other}:cancel`, { version: 1 })).status, 403);
  const read = await person.call('GET', `sessions/${own}`);
  assert.deepEqual(read.field('authorized_actions'), ['read:self', 'cancel:self']);
  const canceled = await must(`sessions/${own}:cancel`, { version: 1 }, person);
  assert.equal(canceled.field('status'), 'canceling');
  const all = await admin.call('GET', `sessions?scope_id=${project.id}`);
  assert.ok(idsOf(all).includes(own) && idsOf(all).includes(other));
});

test('cancel takes the version that there is, and cancels once', async () => {
  const id = sessionOf(await mustAuthorize(await makeTarget()));
  const malformed = await admin.call('POST', 'sessions/x_1:cancel', {});
  assert.deepEqual(faults(malformed), {
    id: 'Improperly formatted identifier.',
    version: 'Required field.',
  });
  const stale = await admin.call('POST', `sessions/${id}:cancel`, { version: 2 });
  assert.equal(stale.status, 404);
  const both = await Promise.all(
    [1, 1].map((version) => admin.call('POST', `sessions/${id}:cancel`, { version })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404]);
  const again = await must(`sessions/${id}:cancel`, { version: 2 });
  assert.equal(again.field('version'), 2);
  const states = again.field('states') as { status: string; end_time?: string }[];
  assert.deepEqual(
    states.map(({ status }) => status),
    ['canceling', 'pending'],
  );
  assert.ok(states[1]?.end_time && !states[0]?.end_time);
});

test('a session becomes active with its first use, and shows what its connections carry', async () => {
  const id = sessionOf(await mustAuthorize(await makeTarget()));
  const pending = await readSession(id);
  assert.equal(pending.field('status'), 'pending');
  assert.equal(pending.field('connections'), undefined);
  const connection_id = await useSession(id);
  const active = await readSession(id);
  assert.equal(active.field('version'), 2);
  const states = active.field('states') as { status: string }[];
  assert.deepEqual(
    states.map(({ status }) => status),
    ['active', 'pending'],
  );
  assert.deepEqual(active.field('connections'), [
    {
      client_tcp_address: '127.0.0.1',
      client_tcp_port: 50_123,
      endpoint_tcp_address: '10.0.0.5',
      endpoint_tcp_port: 5432,
    },
  ]);
  await noteTraffic(app, worker.id, [{ connection_id, bytes_up: 1234, bytes_down: 5678 }]);
  const busy = await readSession(id);
  assert.equal(busy.field('connections.0.bytes_up'), '1234');
  assert.equal(busy.field('connections.0.bytes_down'), '5678');
  const listed = await admin.call('GET', `sessions?scope_id=${project.id}`);
  const items = (listed.field('items') ?? []) as Record<string, unknown>[];
  assert.ok(items.every((item) => item.connections === undefined));
});

test('the last connection of a limit ends the session', async () => {
  const id = sessionOf(await mustAuthorize(await makeTarget({ session_connection_limit: 1 })));
  const connection_id = await useSession(id);
  await assert.rejects(
    authorizeConnection(app, carrier(), { session_id: id, worker_id: worker.id }),
  );
  assert.equal((await readSession(id)).field('status'), 'active');
  const end = { connection_id, bytes_up: 1, bytes_down: 2, reason: 'unknown' } as const;
  await closeConnections(app, carrier(), [end]);
  const ended = await readSession(id);
  assert.equal(ended.field('status'), 'terminated');
  assert.equal(ended.field('termination_reason'), 'connection limit');
  assert.equal(ended.field('connections.0.closed_reason'), 'unknown');
  assert.equal(ended.field('version'), 3);
});

test('a canceled session ends with its last connection', async () => {
  const id = sessionOf(await mustAuthorize(await makeTarget()));
  const connection_id = await useSession(id);
  await must(`sessions/${id}:cancel`, { version: 2 });
  await runDue();
  assert.equal((await readSession(id)).field('status'), 'canceling');
  const end = { connection_id, bytes_up: 0, bytes_down: 0, reason: 'canceled' } as const;
  await closeConnections(app, carrier(), [end]);
  const ended = await readSession(id);
  assert.equal(ended.field('termination_reason'), 'canceled');
  const states = ended.field('states') as { status: string }[];
  assert.deepEqual(
    states.map(({ status }) => status),
    ['terminated', 'canceling', 'active', 'pending'],
  );
});

test('a list leaves out what has ended unless asked, and tells of it when it is refreshed', async () => {
  const target = await makeTarget();
  const [first, second] = [
    sessionOf(await mustAuthorize(target)),
    sessionOf(await mustAuthorize(target)),
  ];
  const list = (more: string) => admin.call('GET', `sessions?scope_id=${project.id}${more}`);
  const before = await list('');
  const token = before.textAt('list_token');
  assert.ok(idsOf(before).includes(first));
  await must(`sessions/${first}:cancel`, { version: 1 });
  await runDue();
  assert.equal((await readSession(first)).field('status'), 'terminated');
  const fresh = idsOf(await list(''));
  assert.ok(!fresh.includes(first) && fresh.includes(second));
  assert.ok(idsOf(await list('&include_terminated=true')).includes(first));
  const news = await list(`&list_token=${encodeURIComponent(token)}`);
  assert.equal(news.field('sort_by'), 'updated_time');
  assert.ok(idsOf(news).includes(first));
  const filtered = await list(`&filter=${encodeURIComponent(`"/item/target_id"=="${target}"`)}`);
  assert.deepEqual(idsOf(filtered), [second]);
});

test('sessions of a scope that is no project are listed only with those beneath', async () => {
  const flat = await admin.call('GET', 'sessions?scope_id=global');
  assert.equal(flat.status, 400);
  const deep = await admin.call('GET', 'sessions?scope_id=global&recursive=true');
  assert.equal(deep.status, 200);
  assert.ok(idsOf(deep).length > 0);
});

test('a session is canceled with its target, and loses target and type but not its version', async () => {
  const target = await makeTarget();
  const id = sessionOf(await mustAuthorize(target));
  await useSession(id);
  assert.equal((await admin.call('DELETE', `targets/${target}`)).status, 204);
  const session = await readSession(id);
  assert.equal(session.field('status'), 'canceling');
  assert.equal(session.field('target_id'), undefined);
  assert.equal(session.field('type'), undefined);
  assert.equal(session.field('version'), 2);
  assert.equal((await authorize(target)).status, 404);
});

test('a session is canceled with the log-in that made it, and with its user', async () => {
  const target = await makeTarget();
  const grants = [
    `ids=${target};actions=authorize-session`,
    'ids=*;type=auth-token;actions=delete',
  ];
  const person = await project.addPerson('leaving', grants);
  const first = sessionOf(await mustAuthorize(target, {}, person));
  const out = await person.call('DELETE', `auth-tokens/${person.auth_token_id}`);
  assert.equal(out.status, 204, out.text);
  const canceled = await readSession(first);
  assert.equal(canceled.field('status'), 'canceling');
  assert.equal(canceled.field('auth_token_id'), undefined);
  assert.equal((await authorize(target, {}, person)).status, 401);
  const back = await logIn(server, project.auth_method_id, 'leaving');
  const second = sessionOf(await mustAuthorize(target, {}, back));
  assert.equal((await admin.call('DELETE', `users/${person.user_id}`)).status, 204);
  const orphan = await readSession(second);
  assert.equal(orphan.field('status'), 'canceling');
  assert.equal(orphan.field('user_id'), undefined);
});

test('a session is canceled when the way to its endpoint is taken away', async () => {
  const target = await makeTarget();
  const direct = sessionOf(await mustAuthorize(target));
  const moved = await admin.call('PATCH', `targets/${target}`, { version: 1, address: '10.0.0.6' });
  assert.equal(moved.status, 200);
  assert.equal((await readSession(direct)).field('status'), 'pending');
  const cleared = await admin.call('PATCH', `targets/${target}`, { version: 2, address: null });
  assert.equal(cleared.status, 200, cleared.text);
  assert.equal((await readSession(direct)).field('status'), 'canceling');

  const ways: ((made: Awaited<ReturnType<typeof makeHosted>>) => Promise<Reply>)[] = [
    ({ hosts }) => admin.call('DELETE', `hosts/${hosts[0]}`),
    ({ set }) => admin.call('DELETE', `host-sets/${set}`),
    ({ catalog }) => admin.call('DELETE', `host-catalogs/${catalog}`),
    ({ set, hosts }) =>
      admin.call('POST', `host-sets/${set}:remove-hosts`, { version: 2, host_ids: [hosts[0]] }),
    ({ target: hosted }) =>
      admin.call('POST', `targets/${hosted}:set-host-sources`, {
        version: 2,
        host_source_ids: null,
      }),
  ];
  for (const way of ways) {
    const made = await makeHosted('10.4.0.1', '10.4.0.2');
    const [first = '', second = ''] = made.hosts;
    const lost = sessionOf(await mustAuthorize(made.target, { host_id: first }));
    const other = sessionOf(await mustAuthorize(made.target, { host_id: second }));
    const done = await way(made);
    assert.ok(done.status < 300, done.text);
    assert.equal((await readSession(lost)).field('status'), 'canceling', String(way));
    const single = String(way).includes('hosts[0]');
    const left = single ? 'pending' : 'canceling';
    assert.equal((await readSession(other)).field('status'), left, String(way));
  }
});

test('the sessions of a project that is removed are cut, though nobody can read them', async () => {
  const scope_id = await make('scopes', { scope_id: project.org_id });
  const target = await makeTarget({ scope_id });
  const id = sessionOf(await mustAuthorize(target));
  const connection_id = await useSession(id);
  assert.equal((await admin.call('DELETE', `scopes/${scope_id}`)).status, 204);
  assert.equal((await admin.call('GET', `sessions/${id}`)).status, 404);
  const row = await app.db
    .selectFrom('session')
    .select('status')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.equal(row?.status, 'canceling');
  const end = { connection_id, bytes_up: 0, bytes_down: 0, reason: 'canceled' } as const;
  await closeConnections(app, carrier(), [end]);
});

test('secrets of a session are nowhere in the database as they are', async () => {
  const id = sessionOf(await mustAuthorize(await makeTarget()));
  await useSession(id);
  const row = await app.db
    .selectFrom('session')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  assert.ok(row?.tofu_sealed && row.private_key_sealed);
  assert.ok(!Buffer.from(row.tofu_sealed).includes(TOFU));
  const { private_key } = await lookUpSession(app, worker, id);
  assert.ok(
    !Buffer.from(row.private_key_sealed).includes(Buffer.from(private_key.subarray(0, 32))),
  );
});

test('a log-in in the header of the other API is one, too', async () => {
  const target = await makeTarget();
  const call = callOver(server.url, admin.token);
  const reply = await call('POST', `targets/${target}:authorize-session`, {});
  assert.equal(reply.status, 200, reply.text);
});

test('while a target is deleted no session is left that could be used', async () => {
  const target = await makeTarget();
  const [deleted, ...all] = await Promise.all([
    new Promise<Reply>((resolve) => {
      setImmediate(() => resolve(admin.call('DELETE', `targets/${target}`)));
    }),
    ...Array.from({ length: 24 }, () => authorize(target)),
  ]);
  assert.equal(deleted.status, 204);
  assert.ok(all.every(({ status }) => status === 200 || status === 404));
  for (const reply of all.filter(({ status }) => status === 200)) {
    assert.equal((await readSession(sessionOf(reply))).field('status'), 'canceling');
  }
});

test('while a target is changed sessions are authorized all the same', async () => {
  const target = await makeTarget();
  const [changed, ...all] = await Promise.all([
    admin.call('PATCH', `targets/${target}`, { version: 1, description: 'busy' }),
    ...Array.from({ length: 12 }, () => authorize(target)),
  ]);
  assert.deepEqual(new Set([changed, ...all].map(({ status }) => status)), new Set([200]));
});

// Last, since the clock moves.
test('a session that has run out is refused at once, ended by the job, and forgotten', async () => {
  const target = await makeTarget({ session_max_seconds: 60 });
  const id = sessionOf(await mustAuthorize(target));
  const list = (token: string) =>
    admin.call('GET', `sessions?scope_id=${project.id}&list_token=${encodeURIComponent(token)}`);
  const before = await admin.call('GET', `sessions?scope_id=${project.id}`);
  shift_ms += 60_000;
  await assert.rejects(lookUpSession(app, worker, id));
  await runDue();
  const ended = await readSession(id);
  assert.equal(ended.field('status'), 'terminated');
  assert.equal(ended.field('termination_reason'), 'timed out');
  shift_ms += 3_600_000;
  await runDue();
  assert.equal((await admin.call('GET', `sessions/${id}`)).status, 404);
  const news = await list(before.textAt('list_token'));
  assert.ok((news.field('removed_ids') as string[]).includes(id));
});
