// Requests whose plan, and not only whose permission, goes by what the caller may do or is: when that
// is narrowed while they are under way they are planned by what is left.

import assert from 'node:assert/strict';
import { withOpenssl } from '../support/openssl.ts';
import { type Bench, type Contest, type ContestCase, contestAll, must } from '../support/racing.ts';
import type { Reply } from '../support/server.ts';

/** A narrowing that is acknowledged first, and a request that is refused by what is left. */
function refusing(
  request: Contest['one'],
  narrowing: Contest['one'],
  refusal: readonly [status: number, text: RegExp],
): Contest {
  return {
    one: request,
    other: narrowing,
    async judge({ quicker, slower }) {
      const { status, text } = slower.reply;
      if (quicker.by === request) return assert.ok(status < 300, `${status} ${text}`);
      assert.equal(status, refusal[0], text);
      assert.match(text, refusal[1]);
    },
  };
}

const policyOf = (stanzas: Record<string, string[]>): string =>
  Object.entries(stanzas)
    .map(
      ([path, capabilities]) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`,
    )
    .join('\n');

async function newToken({ maker }: Bench, policies: string[]): Promise<string> {
  const made = await must(maker.call('POST', 'auth/token/create', { policies }));
  return made.textAt('auth.client_token');
}

const sudo: ContestCase = {
  name: 'a token with more than its parent has, and the sudo that allows it',
  async setUp(bench) {
    const name = `minter${bench.next()}`;
    const path = `sys/policies/acl/${name}`;
    const policy = (...capabilities: string[]) => ({
      policy: policyOf({ 'auth/token/create': capabilities }),
    });
    await must(bench.maker.call('PUT', path, policy('update', 'sudo')));
    const token = await newToken(bench, [name]);
    return refusing(
      { method: 'POST', path: 'auth/token/create', body: { policies: ['other'] }, token },
      { method: 'PUT', path, body: policy('update') },
      [400, /subset of parent/],
    );
  },
};

/** Somebody who logs in, with an entity. */
async function newPerson(bench: Bench, policy: string): Promise<{ token: string; entity: string }> {
  const { maker } = bench;
  const mount = `up${bench.next()}`;
  await must(maker.call('POST', `sys/auth/${mount}`, { type: 'userpass' }));
  const body = { password: 'correct horse', token_policies: [policy] };
  await must(maker.call('POST', `auth/${mount}/users/ann`, body));
  const logIn = await must(maker.call('POST', `auth/${mount}/login/ann`, body, { token: '' }));
  return { token: logIn.textAt('auth.client_token'), entity: logIn.textAt('auth.entity_id') };
}

const templates: ContestCase[] = [
  ['a name', { allowed_domains_template: true, allow_bare_domains: true }, {}],
  [
    'a URI',
    { allowed_uri_sans_template: true, allow_any_name: true },
    { uri_sans: 'spiffe://old.test' },
  ],
].map(
  ([what, fields, more]): ContestCase => ({
    name: `a certificate for ${what} that its entity stands for, and the entity`,
    async setUp(bench) {
      const { maker } = bench;
      const mount = `pki${bench.next()}`;
      await must(maker.call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
      const root = { common_name: 'Root', key_type: 'ec' };
      await must(maker.call('POST', `${mount}/root/generate/internal`, root));
      const host = '{{identity.entity.metadata.host}}';
      const role = {
        key_type: 'ec',
        ttl: '1h',
        allowed_domains: [host],
        allowed_uri_sans: [`spiffe://${host}`],
        ...(fields as object),
      };
      await must(maker.call('POST', `${mount}/roles/web`, role));
      const policy = `issuer${bench.next()}`;
      const text = policyOf({ [`${mount}/issue/web`]: ['update'] });
      await must(maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
      const { token, entity } = await newPerson(bench, policy);
      const path = `identity/entity/id/${entity}`;
      await must(maker.call('POST', path, { metadata: { host: 'old.test' } }));
      const body = { common_name: 'old.test', ...(more as object) };
      return refusing(
        { method: 'POST', path: `${mount}/issue/web`, body, token },
        { method: 'POST', path, body: { metadata: { host: 'new.test' } } },
        [400, /not allowed|not valid for this role/],
      );
    },
  }),
);

/** For CN web.test and three alternative names. */
function newCsr(): string {
  let csr = '';
  withOpenssl(({ must, read }) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const names = 'subjectAltName=DNS:a.test,IP:192.0.2.7,URI:https://a.test/';
    const files = ['-keyout', 'k', '-out', 'c'];
    must('req', '-new', ...key, '-subj', '/CN=web.test', '-addext', names, ...files);
    csr = Buffer.from(read('c')).toString('utf8');
  });
  return csr;
}
const CSR = newCsr();

/** Conditions that a policy is given while a CSR is being signed, and whether its names stand them. */
const narrowings: [what: string, conditions: string, stands: boolean][] = [
  ['its common name', 'denied_parameters = { "common_name" = ["web.test"] }', false],
  ['another common name', 'denied_parameters = { "common_name" = ["admin.test"] }', true],
  ['its alternative name', 'denied_parameters = { "alt_names" = ["a.test"] }', false],
  ['its address', 'denied_parameters = { "ip_sans" = ["192.0.2.7"] }', false],
  ['another address', 'denied_parameters = { "ip_sans" = ["192.0.2.8"] }', true],
  ['its URI', 'denied_parameters = { "uri_sans" = ["https://a.test/"] }', false],
  ['all but other names', 'allowed_parameters = { "*" = [], "common_name" = ["b.test"] }', false],
  ['all but its name', 'allowed_parameters = { "*" = [], "common_name" = ["web.test"] }', true],
];

const csrs: ContestCase[] = narrowings.flatMap(([what, conditions, stands]) =>
  ['', '/issuer/default'].map((issuer) => ({
    name: `a CSR signed by ${issuer || 'the issuer of its role'}, and a policy that denies ${what}`,
    async setUp(bench) {
      const { maker } = bench;
      const mount = `pki${bench.next()}`;
      await must(maker.call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
      const root = { common_name: 'Root', key_type: 'ec' };
      await must(maker.call('POST', `${mount}/root/generate/internal`, root));
      const role = { allow_any_name: true, allowed_uri_sans: '*', key_type: 'ec', ttl: '1h' };
      await must(maker.call('POST', `${mount}/roles/web`, role));
      const signing = `${mount}${issuer}/sign/web`;
      const path = `sys/policies/acl/signer${bench.next()}`;
      const policyWith = (more: string) => ({
        policy: `path "${signing}" { capabilities = ["update"] ${more} }`,
      });
      await must(maker.call('PUT', path, policyWith('')));
      const token = await newToken(bench, [path.split('/').at(-1) ?? '']);
      const request = { method: 'POST', path: signing, body: { csr: CSR }, token };
      const narrowing = { method: 'PUT', path, body: policyWith(conditions) };
      if (!stands) return refusing(request, narrowing, [403, /permission denied/]);
      return {
        one: request,
        other: narrowing,
        async judge({ slower }) {
          assert.ok(slower.reply.status < 300, slower.reply.text);
        },
      };
    },
  })),
);

const idOf = (reply: Reply): string => reply.textAt('id');

/** Somebody of the broker with some grants everywhere, and a project. */
async function newGrantee({ maker, next }: Bench, grants: readonly string[]) {
  const make = async (plural: string, body: object) =>
    idOf(await must(maker.call('POST', plural, body)));
  const org = await make('scopes', { scope_id: 'global' });
  const project = await make('scopes', { scope_id: org });
  const auth_method_id = await make('auth-methods', { scope_id: org, type: 'password' });
  const login = { login_name: `person-${next()}`, password: 'correct horse' };
  const account = await make('accounts', { auth_method_id, attributes: login });
  const user = await make('users', { scope_id: org });
  const owns = { version: 1, account_ids: [account] };
  await must(maker.call('POST', `users/${user}:add-accounts`, owns));
  const role = await make('roles', { scope_id: 'global' });
  const change = async (action: string, body: object) => {
    const { version } = {
      version: (await must(maker.call('GET', `roles/${role}`))).field('version'),
    };
    return must(maker.call('POST', `roles/${role}:${action}`, { version, ...body }));
  };
  await change('set-grant-scopes', { grant_scope_ids: ['this', 'descendants'] });
  await change('add-principals', { principal_ids: [user] });
  const version = (await change('set-grants', { grant_strings: grants })).field('version');
  const path = `auth-methods/${auth_method_id}:authenticate`;
  const made = await must(maker.call('POST', path, { attributes: login }, { token: '' }));
  /** Has the grants be these. */
  const regrant = (grant_strings: readonly string[]): Contest['one'] => ({
    method: 'POST',
    path: `roles/${role}:set-grants`,
    body: { version, grant_strings },
  });
  return { project, token: made.textAt('attributes.token'), regrant };
}

const newTarget = (scope_id: string) => ({
  scope_id,
  type: 'tcp',
  name: 'db',
  address: 'db.test',
  attributes: { default_port: 5432 },
});

const alias: ContestCase = {
  name: 'a target with an alias, and the grant for aliases',
  async setUp(bench) {
    const grants = ['ids=*;type=target;actions=create,read', 'ids=*;type=alias;actions=create'];
    const { project, token, regrant } = await newGrantee(bench, grants);
    const with_aliases = [{ value: `db-${bench.next()}.test`, scope_id: 'global' }];
    const body = { ...newTarget(project), with_aliases };
    const narrowing = regrant(grants.slice(0, 1));
    return refusing({ method: 'POST', path: 'targets', body, token }, narrowing, [
      403,
      /Forbidden/,
    ]);
  },
};

const views: [what: string, fields: string[]][] = [
  ['fewer fields', ['id', 'scope_id']],
  ['other fields', ['address', 'id']],
];
const shown = views.map(
  ([what, fields]): ContestCase => ({
    name: `a target that is made, and a grant that shows ${what} of it`,
    async setUp(bench) {
      const grant = 'ids=*;type=target;actions=create;output_fields';
      const { project, token, regrant } = await newGrantee(bench, [`${grant}=id,scope_id,name`]);
      const one = { method: 'POST', path: 'targets', body: newTarget(project), token };
      const other = regrant([`${grant}=${fields.join(',')}`]);
      return {
        one,
        other,
        async judge({ slower, quicker }) {
          const isLate = slower.by === one;
          const made = isLate ? slower.reply : quicker.reply;
          const names = Object.keys(JSON.parse(made.text)).sort();
          assert.deepEqual(names, isLate ? fields : ['id', 'name', 'scope_id']);
        },
      };
    },
  }),
);

contestAll('what is narrowed while it is gone by', [sudo, ...templates, ...csrs, alias, ...shown]);
