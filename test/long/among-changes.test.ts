// Requests that rest on what is permitted, while others change that whenever they are about to write: they
// are done all the same, and only what they may still do by then.

import assert from 'node:assert/strict';
import { logIn, make, newPerson, type Person } from '../support/broker-places.ts';
import {
  type Bench,
  type Contender,
  callAs,
  must,
  type PressedCase,
  pressAll,
} from '../support/racing.ts';

const ALL = '["create","read","update","patch","delete","list","sudo"]';
const everything = (more = ''): { policy: string } => ({
  policy: `path "*" { capabilities = ${ALL} }\n${more}`,
});

interface Operator {
  token: string;
  /** Path of the policy that permits everything. */
  policy: string;
}

async function newOperator({ maker, next }: Bench): Promise<Operator> {
  const name = `operator-${next()}`;
  const policy = `sys/policies/acl/${name}`;
  await must(maker.call('PUT', policy, everything()));
  const made = await must(maker.call('POST', 'auth/token/create', { policies: [name] }));
  return { token: made.textAt('auth.client_token'), policy };
}

type Call = ReturnType<typeof callAs>;

/** A request of an operator's, made once what it is about is there. */
const operated = (
  name: string,
  setUp: (call: Call, bench: Bench) => Promise<Omit<Contender, 'token'>>,
): PressedCase => ({
  name,
  async setUp(bench) {
    const { token } = await newOperator(bench);
    const request = await setUp(callAs(bench.maker.call, token), bench);
    return { request: { ...request, token } };
  },
});

const POST = 'POST';

async function newEntities(call: Call, bench: Bench, many = 3): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < many) {
    const made = await must(call(POST, 'identity/entity', { name: `entity-${bench.next()}` }));
    ids.push(made.textAt('data.id'));
  }
  return ids;
}

async function newAuth(call: Call, bench: Bench, type: string): Promise<string> {
  const path = `${type}-${bench.next()}`;
  await must(call(POST, `sys/auth/${path}`, { type }));
  return path;
}

async function accessorOf(call: Call, path: string): Promise<string> {
  return (await must(call('GET', `sys/auth/${path}`))).textAt('data.accessor');
}

async function newAuthority(call: Call, bench: Bench): Promise<string> {
  const mount = `pki-${bench.next()}`;
  await must(call(POST, `sys/mounts/${mount}`, { type: 'pki' }));
  const root = { common_name: 'Root', key_type: 'ec' };
  await must(call(POST, `${mount}/root/generate/internal`, root));
  const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
  await must(call(POST, `${mount}/roles/web`, role));
  return mount;
}

const POLICIES = Array.from({ length: 50 }, (_, at) => `policy-${at}`);

pressAll('is done although others change permissions whenever it is about to write', [
  operated('a group with members', async (call, bench) => ({
    method: POST,
    path: `identity/group/name/group-${bench.next()}`,
    body: { member_entity_ids: await newEntities(call, bench) },
  })),
  operated('a group that members leave', async (call, bench) => {
    const path = `identity/group/name/group-${bench.next()}`;
    const [stays, ...leave] = await newEntities(call, bench);
    await must(call(POST, path, { member_entity_ids: [stays, ...leave] }));
    return { method: POST, path, body: { member_entity_ids: [stays] } };
  }),
  operated('a group that is named in the body', async (call, bench) => ({
    method: POST,
    path: 'identity/group',
    body: { name: `group-${bench.next()}`, member_entity_ids: await newEntities(call, bench) },
  })),
  operated('an entity with many policies', async (_call, bench) => ({
    method: POST,
    path: `identity/entity/name/entity-${bench.next()}`,
    body: { policies: POLICIES },
  })),
  operated('entities that go together', async (call, bench) => ({
    method: POST,
    path: 'identity/entity/batch-delete',
    body: { entity_ids: await newEntities(call, bench) },
  })),
  operated('an alias', async (call, bench) => {
    const mount_accessor = await accessorOf(call, await newAuth(call, bench, 'userpass'));
    const [canonical_id] = await newEntities(call, bench, 1);
    const body = { name: 'ann', mount_accessor, canonical_id };
    return { method: POST, path: 'identity/entity-alias', body };
  }),
  operated("a group's alias", async (call, bench) => {
    const mount_accessor = await accessorOf(call, await newAuth(call, bench, 'userpass'));
    const group = { name: `group-${bench.next()}`, type: 'external' };
    const made = await must(call(POST, 'identity/group', group));
    const body = { name: 'staff', mount_accessor, canonical_id: made.textAt('data.id') };
    return { method: POST, path: 'identity/group-alias', body };
  }),
  operated('a user with many policies', async (call, bench) => ({
    method: POST,
    path: `auth/${await newAuth(call, bench, 'userpass')}/users/ann`,
    body: { password: 'correct horse', token_policies: POLICIES },
  })),
  operated("a user's policies", async (call, bench) => {
    const path = `auth/${await newAuth(call, bench, 'userpass')}/users/ann`;
    await must(call(POST, path, { password: 'correct horse' }));
    return { method: POST, path: `${path}/policies`, body: { token_policies: POLICIES } };
  }),
  operated('a role of machines with many policies', async (call, bench) => ({
    method: POST,
    path: `auth/${await newAuth(call, bench, 'approle')}/role/web`,
    body: { token_policies: POLICIES },
  })),
  operated('a policy', async (_call, bench) => ({
    method: 'PUT',
    path: `sys/policies/acl/other-${bench.next()}`,
    body: everything(),
  })),
  operated('a token', async () => ({
    method: POST,
    path: 'auth/token/create',
    body: { policies: POLICIES },
  })),
  operated('a role of tokens', async (_call, bench) => ({
    method: POST,
    path: `auth/token/roles/role-${bench.next()}`,
    body: { allowed_policies: POLICIES },
  })),
  operated('a mount', async (_call, bench) => ({
    method: POST,
    path: `sys/mounts/pki-${bench.next()}`,
    body: { type: 'pki' },
  })),
  operated('a mount that is moved', async (call, bench) => {
    const from = `pki-${bench.next()}`;
    await must(call(POST, `sys/mounts/${from}`, { type: 'pki' }));
    return { method: POST, path: 'sys/remount', body: { from, to: `${from}-moved` } };
  }),
  operated('a role of a CA', async (call, bench) => ({
    method: POST,
    path: `${await newAuthority(call, bench)}/roles/other`,
    body: { allowed_domains: POLICIES },
  })),
  operated('a certificate', async (call, bench) => ({
    method: POST,
    path: `${await newAuthority(call, bench)}/issue/web`,
    body: { common_name: 'a.test' },
  })),
]);

/** Somebody of the broker's who may do everything in an org of their own. */
async function newAdmin(bench: Bench): Promise<Person & { token: string }> {
  const { call } = bench.maker;
  const person = await newPerson(bench);
  const role = await make(bench, 'roles', { scope_id: person.org });
  const change = (verb: string, version: number, fields: object) =>
    must(call(POST, `roles/${role}:${verb}`, { version, ...fields }));
  await change('add-principals', 1, { principal_ids: [person.user] });
  await change('add-grants', 2, { grant_strings: ['ids=*;type=*;actions=*'] });
  await change('set-grant-scopes', 3, { grant_scope_ids: ['this', 'children'] });
  const token = (await must(logIn(bench, person))).textAt('attributes.token');
  return { ...person, token };
}

/** A request of the administrator of an org. */
const administered = (
  name: string,
  setUp: (call: Call, admin: Person, bench: Bench) => Promise<Omit<Contender, 'token'>>,
): PressedCase => ({
  name,
  async setUp(bench) {
    const { token, ...admin } = await newAdmin(bench);
    const request = await setUp(callAs(bench.maker.call, token), admin, bench);
    return { request: { ...request, token } };
  },
});

const changing = (
  plural: string,
  verb: string,
  listOf: (bench: Bench, org: string) => object,
): PressedCase =>
  administered(`${verb} of ${plural}`, async (_call, { org }, bench) => ({
    method: POST,
    path: `${plural}/${await make(bench, plural, { scope_id: org })}:${verb}`,
    body: { version: 1, ...(await listOf(bench, org)) },
  }));

const newUsers = async (bench: Bench, scope_id: string): Promise<string[]> => [
  await make(bench, 'users', { scope_id }),
  await make(bench, 'users', { scope_id }),
];

/** A library whose certificates come from a CA of the same server. */
async function newLibrary(call: Call, { org }: Person, bench: Bench) {
  const mount = await newAuthority(bench.maker.call, bench);
  const policy = `issuer-${bench.next()}`;
  const text = `path "${mount}/issue/*" { capabilities = ["update"] }`;
  await must(bench.maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
  const self = await must(call('GET', 'auth/token/lookup-self'));
  const entity = `identity/entity/id/${self.textAt('data.entity_id')}`;
  await must(bench.maker.call(POST, entity, { policies: [policy] }));
  const scope_id = await make(bench, 'scopes', { scope_id: org });
  const credential_store_id = await make(bench, 'credential-stores', {
    scope_id,
    type: 'authority',
    attributes: { mount },
  });
  const attributes = { role: 'web', common_name: 'a.test' };
  return { scope_id, body: { credential_store_id, attributes } };
}

pressAll('of the broker is done although others change permissions whenever it is about to write', [
  changing('roles', 'set-grants', () => ({ grant_strings: ['ids=*;type=*;actions=read'] })),
  changing('roles', 'set-principals', async (bench, org) => ({
    principal_ids: await newUsers(bench, org),
  })),
  changing('groups', 'set-members', async (bench, org) => ({
    member_ids: await newUsers(bench, org),
  })),
  administered('set-accounts of users', async (_call, { org, method }, bench) => {
    const attributes = { login_name: `other-${bench.next()}` };
    const account = await make(bench, 'accounts', { auth_method_id: method, attributes });
    const user = await make(bench, 'users', { scope_id: org });
    const body = { version: 1, account_ids: [account] };
    return { method: POST, path: `users/${user}:set-accounts`, body };
  }),
  administered('a credential library', async (call, admin, bench) => {
    const { body } = await newLibrary(call, admin, bench);
    return { method: POST, path: 'credential-libraries', body };
  }),
  administered('a session with a certificate', async (call, admin, bench) => {
    const { scope_id, body } = await newLibrary(call, admin, bench);
    const library = (await must(call(POST, 'credential-libraries', body))).textAt('id');
    const target = await make(bench, 'targets', {
      scope_id,
      type: 'tcp',
      name: `target-${bench.next()}`,
      address: '127.0.0.1',
      attributes: { default_port: 1 },
    });
    const brokered_credential_source_ids = [library];
    const sources = { version: 1, brokered_credential_source_ids };
    await must(bench.maker.call(POST, `targets/${target}:add-credential-sources`, sources));
    return { method: POST, path: `targets/${target}:authorize-session`, body: {} };
  }),
]);

/** A group with members, and what its maker may do: anew at each attempt. */
const judgedAnew = (
  name: string,
  ruleAt: (attempt: number, members: readonly string[]) => string,
  judge?: (status: number, attempts: number) => void,
): PressedCase => ({
  name,
  async setUp(bench) {
    const { token, policy } = await newOperator(bench);
    const members = await newEntities(callAs(bench.maker.call, token), bench);
    const path = `identity/group/name/group-${bench.next()}`;
    return {
      request: { method: POST, path, body: { member_entity_ids: members }, token },
      change: (attempt) => ({
        method: 'PUT',
        path: policy,
        body: everything(ruleAt(attempt, members)),
      }),
      ...(judge && { judge: ({ reply, attempts }) => judge(reply.status, attempts) }),
    };
  },
});

const denied = (status: number): void => assert.equal(status, 403);

pressAll('a group is made by who may make it by then, whose permissions are others each time', [
  judgedAnew('nothing of it is denied', (at) => `path "at/${at}" { capabilities = ["deny"] }`),
  ...[1, 2].map((when) =>
    judgedAnew(
      `a member is denied, acknowledged at attempt ${when}`,
      (at, [member]) =>
        at < when
          ? `path "at/${at}" { capabilities = ["deny"] }`
          : `path "identity/entity/id/${member}" { capabilities = ["deny"] }`,
      denied,
    ),
  ),
  judgedAnew(
    'all entities are denied by their names',
    (at) => `path "identity/entity/name/*" { capabilities = ["deny"] } # ${at}`,
    denied,
  ),
]);
