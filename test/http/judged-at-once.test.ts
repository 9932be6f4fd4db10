// Requests whose plan, and not only whose permission, goes by what the caller may do or is: when that
// is narrowed while they are under way they are planned by what is left.

import assert from 'node:assert/strict';
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

const idOf = (reply: Reply): string => reply.textAt('id');

const alias: ContestCase = {
  name: 'a target with an alias, and the grant for aliases',
  async setUp(bench) {
    const { maker } = bench;
    const make = async (plural: string, body: object) =>
      idOf(await must(maker.call('POST', plural, body)));
    const org = await make('scopes', { scope_id: 'global' });
    const project = await make('scopes', { scope_id: org });
    const auth_method_id = await make('auth-methods', { scope_id: org, type: 'password' });
    const login = { login_name: `person-${bench.next()}`, password: 'correct horse' };
    const account = await make('accounts', { auth_method_id, attributes: login });
    const user = await make('users', { scope_id: org });
    const owns = { version: 1, account_ids: [account] };
    await must(maker.call('POST', `users/${user}:add-accounts`, owns));
    const role = await make('roles', { scope_id: 'global' });
    const grants = ['ids=*;type=target;actions=create,read', 'ids=*;type=alias;actions=create'];
    const change = async (action: string, body: object) => {
      const { version } = {
        version: (await must(maker.call('GET', `roles/${role}`))).field('version'),
      };
      return must(maker.call('POST', `roles/${role}:${action}`, { version, ...body }));
    };
    await change('set-grant-scopes', { grant_scope_ids: ['this', 'descendants'] });
    await change('add-principals', { principal_ids: [user] });
    const granted = await change('set-grants', { grant_strings: grants });
    const made = await must(
      maker.call(
        'POST',
        `auth-methods/${auth_method_id}:authenticate`,
        { attributes: login },
        { token: '' },
      ),
    );
    const token = made.textAt('attributes.token');
    const body = {
      scope_id: project,
      type: 'tcp',
      name: 'db',
      address: 'db.test',
      attributes: { default_port: 5432 },
      with_aliases: [{ value: `db-${bench.next()}.test`, scope_id: 'global' }],
    };
    return refusing(
      { method: 'POST', path: 'targets', body, token },
      {
        method: 'POST',
        path: `roles/${role}:set-grants`,
        body: { version: granted.field('version'), grant_strings: grants.slice(0, 1) },
      },
      [403, /Forbidden/],
    );
  },
};

contestAll('what is narrowed while it is gone by', [sudo, ...templates, alias]);
