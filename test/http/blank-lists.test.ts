import assert from 'node:assert/strict';
import { test } from 'node:test';
import { saveAsRead } from '../../src/store/as-read.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** Holds nothing but the right to make tokens through roles. */
async function tokenMaker({ call }: Client): Promise<string> {
  await call('POST', 'sys/policies/acl/maker', {
    policy: 'path "auth/token/create/*" { capabilities = ["create", "update"] }',
  });
  await call('POST', 'sys/policies/acl/admin', { policy: 'path "*" { capabilities = ["sudo"] }' });
  return (await call('POST', 'auth/token/create', { policies: ['maker'] })).textAt(
    'auth.client_token',
  );
}

const ROLE_LISTS = [
  'allowed_policies',
  'allowed_policies_glob',
  'disallowed_policies',
  'disallowed_policies_glob',
];

test('a token role is not written with a list of blanks, and no token is made through one that was written before', async (t) => {
  const client = await startTestServer(t);
  const { call, running } = client;
  const token = await tokenMaker(client);
  for (const field of ROLE_LISTS) {
    for (const blank of [[''], [' ', ''], ',']) {
      const refused = await call('POST', 'auth/token/roles/blank', { [field]: blank });
      assert.equal(refused.status, 400, `${field} ${JSON.stringify(blank)}`);
      assert.match(refused.text, new RegExp(field));
    }
    const role = `old-${field.replaceAll('_', '-')}`;
    await call('POST', `auth/token/roles/${role}`, { [field]: ['x'] });
    const { body } = await running.app.db
      .selectFrom('token_role')
      .select('body')
      .where('name', '=', role)
      .executeTakeFirstOrThrow();
    const blank = JSON.stringify({ ...JSON.parse(body), [field]: [''] });
    await running.app.store.commit([
      saveAsRead('token_role', { key: { name: role }, read: { body }, next: { body: blank } }),
    ]);
    assert.deepEqual((await call('GET', `auth/token/roles/${role}`)).field(`data.${field}`), ['']);
    const make = (policies: string[]) =>
      call('POST', `auth/token/create/${role}`, { policies }, { token });
    assert.equal((await make(['admin'])).status, 400, field);
    const own = await make(['maker']);
    assert.equal(own.status, field.startsWith('allowed') ? 400 : 200, `${field}: ${own.text}`);
  }
});

const BLOCKS: [path: string, field: string, more?: Record<string, unknown>][] = [
  ['auth/token/roles/r1', 'token_bound_cidrs'],
  ['auth/people/users/ann', 'token_bound_cidrs', { password: 'long enough' }],
  ['auth/machines/role/m1', 'token_bound_cidrs'],
  ['auth/machines/role/m2', 'secret_id_bound_cidrs'],
  ['auth/machines/role/m3', 'secret_id_bound_cidrs', { bind_secret_id: false }],
  ['auth/machines/role/known/secret-id', 'cidr_list'],
  ['auth/machines/role/known/secret-id', 'token_bound_cidrs'],
];

test('a list of blank address blocks is refused, and does not stand for every address', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  await call('POST', 'sys/auth/machines', { type: 'approle' });
  await call('POST', 'auth/machines/role/known', {});
  for (const [path, field, more] of BLOCKS) {
    for (const blank of [[''], [' '], ',']) {
      const refused = await call('POST', path, { ...more, [field]: blank });
      assert.equal(refused.status, 400, `${path} ${field} ${JSON.stringify(blank)}`);
      assert.match(refused.text, new RegExp(field));
    }
    const taken = await call('POST', path, { ...more, [field]: ['192.0.2.0/24'] });
    assert.ok(taken.status < 300, `${path} ${field}: ${taken.text}`);
  }
});

/** What a request would be if the list were no list, and the list: refused or, if it is kept, of no name. */
const NAMES: [role: Record<string, unknown>, request: Record<string, unknown>, why: string][] = [
  [{ allowed_domains: [' '], allow_bare_domains: true }, { common_name: 'a.test' }, 'domains'],
  [{ allowed_domains: [''], allow_subdomains: true }, { common_name: 'a.test' }, 'subdomains'],
  [{ allowed_domains: [''], allow_glob_domains: true }, { common_name: 'a.test' }, 'globs'],
  [
    { allow_any_name: true, allowed_uri_sans: [''] },
    { common_name: 'a.test', uri_sans: ['https://a.test/'] },
    'URIs',
  ],
  [
    { allow_any_name: true, allowed_user_ids: [' '] },
    { common_name: 'a.test', user_ids: ['ann'] },
    'user ids',
  ],
  [
    { allow_any_name: true, allowed_serial_numbers: [''] },
    { common_name: 'a.test', serial_number: '1' },
    'serial numbers',
  ],
];

test('blanks among what a PKI role allows let no name in', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
  for (const [rules, request, why] of NAMES) {
    const written = await call('POST', 'demo/roles/blank', {
      ...rules,
      key_type: 'ec',
      ttl: '1h',
    });
    assert.ok(written.status < 300, `${why}: ${written.text}`);
    const issued = await call('POST', 'demo/issue/blank', request);
    assert.equal(issued.status, 400, `${why}: ${issued.text.slice(0, 200)}`);
  }
});

const SUBTREES = [
  'permitted_dns_domains',
  'excluded_dns_domains',
  'permitted_ip_ranges',
  'excluded_ip_ranges',
  'permitted_email_addresses',
  'excluded_email_addresses',
  'permitted_uri_domains',
  'excluded_uri_domains',
];

test('a blank among the constraints of a CA is refused, and does not go unsaid', async (t) => {
  const { call } = await startTestServer(t);
  for (const field of [...SUBTREES]) {
    const refused = await call('POST', 'demo/root/generate/internal', {
      common_name: 'Root',
      key_type: 'ec',
      [field]: [''],
    });
    assert.equal(refused.status, 400, field);
    assert.match(refused.text, new RegExp(field));
  }
});
