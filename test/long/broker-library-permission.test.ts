import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

// What a library fills in counts as if whoever saved it had sent it to the role's issue path.

const broker = await startBroker({ after });
const { client, make, project } = broker;
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};

await ok(root('POST', 'sys/mounts/ssl', { type: 'pki' }));
await ok(root('POST', 'ssl/root/generate/internal', { common_name: 'Root', key_type: 'ec' }));
await ok(
  root('POST', 'ssl/roles/web', {
    allowed_domains: 'example.com',
    allow_subdomains: true,
    allow_any_name: true,
    key_type: 'ec',
    allowed_uri_sans: '*',
  }),
);
const store = await make('credential-stores', {
  scope_id: project,
  type: 'authority',
  attributes: { mount: 'ssl' },
});

const saver = await broker.person(['ids=*;type=*;actions=*']);
const self = await client.call('GET', 'auth/token/lookup-self', undefined, { token: saver.token });
const entity = self.textAt('data.entity_id');
await ok(root('POST', `identity/entity/id/${entity}`, { policies: ['issuer'] }));

/** Writes what the saver may do at the role's path, in words of a policy. */
const permit = (conditions: string) =>
  ok(
    root('POST', 'sys/policies/acl/issuer', {
      policy: `path "ssl/issue/web" { capabilities = ["update"]\n${conditions} }`,
    }),
  );
const save = (attributes: object) =>
  saver.call('POST', 'credential-libraries', {
    credential_store_id: store,
    attributes: { role: 'web', ...attributes },
  });
let targets = 0;
/** Has a session made with a library, by the administrator. */
async function use(library: string): Promise<Reply> {
  const target = await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: `of-${targets++}`,
    address: '127.0.0.1',
    attributes: { default_port: 1 },
  });
  await ok(
    broker.admin('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      brokered_credential_source_ids: [library],
    }),
  );
  return broker.admin('POST', `targets/${target}:authorize-session`, {});
}

const DENIED = 'denied_parameters = { "common_name" = ["admin.example.com"] }';
const NAME = { common_name: 'web.example.com' };

const atSaving: [conditions: string, attributes: object, saved: boolean, why: string][] = [
  ['', NAME, true, 'nothing is denied'],
  [DENIED, NAME, true, 'another name'],
  [DENIED, { common_name: 'admin.example.com' }, false, 'the name as it is'],
  [DENIED, { common_name: '{{`admin`}}.example.com' }, false, 'a literal'],
  [DENIED, { common_name: '{{"ADMIN"}}.example.com' }, false, 'that in capitals'],
  [DENIED, { common_name: '{{coalesce "" "admin"}}.example.com' }, false, 'a chosen literal'],
  [DENIED, { common_name: '{{truncateFrom "admin@x" "@"}}.example.com' }, false, 'a part of one'],
  [
    'denied_parameters = { "alt_names" = ["a.example.com"] }',
    { ...NAME, alt_names: 'b.example.com,{{`a`}}.example.com' },
    false,
    'another name of several',
  ],
  [
    'denied_parameters = { "uri_sans" = ["spiffe://a/*"] }',
    { ...NAME, uri_sans: 'spiffe://{{`a`}}/x' },
    false,
    'a URI',
  ],
  [
    'denied_parameters = { "ip_sans" = ["10.0.0.1"] }',
    { ...NAME, ip_sans: '10.0.0.2,10.0.0.1' },
    false,
    'an address',
  ],
  [
    'denied_parameters = { "common_name" = ["xn--bcher-kva.example.com"] }',
    { common_name: 'bücher.example.com' },
    false,
    'a name in its own script',
  ],
  [
    'denied_parameters = { "alt_names" = ["*.bücher.example.com"] }',
    { ...NAME, alt_names: 'a.example.com,{{`www`}}.xn--bcher-kva.example.com' },
    false,
    'a name in ASCII',
  ],
  [
    'denied_parameters = { "ip_sans" = ["2001:db8::1"] }',
    { ...NAME, ip_sans: '2001:0DB8:0:0::1' },
    false,
    'an address in other words',
  ],
  [
    'denied_parameters = { "private_key_format" = ["der"] }',
    { ...NAME, private_key_format: 'der' },
    false,
    'the usual form of a key, asked for',
  ],
  [
    'denied_parameters = { "ttl" = ["1h"] }',
    { ...NAME, ttl: '60m' },
    false,
    'a ttl in other words',
  ],
  ['denied_parameters = { "format" = ["der"] }', { ...NAME, format: 'der' }, false, 'a format'],
  ['denied_parameters = { "format" = ["der"] }', { ...NAME, format: 'pem' }, true, 'another one'],
  [
    'denied_parameters = { "private_key_format" = [] }',
    { ...NAME, private_key_format: 'pkcs8' },
    false,
    'a format of the key',
  ],
  ['required_parameters = ["ttl"]', NAME, false, 'what is required is not there'],
  ['required_parameters = ["ttl"]', { ...NAME, ttl: '5m' }, true, 'here it is'],
  ['allowed_parameters = { "common_name" = ["*.example.com"] }', NAME, true, 'an allowed name'],
  [
    'allowed_parameters = { "common_name" = ["*.example.com"] }',
    { common_name: '{{.Account.LoginName}}.example.com' },
    true,
    'as far as it is known',
  ],
  [
    'allowed_parameters = { "common_name" = [] }',
    { ...NAME, format: 'der' },
    false,
    'a field that is not allowed',
  ],
  ['min_wrapping_ttl = "1s"', NAME, false, 'nothing that must be wrapped'],
  ['control_group = { factor "x" {} }', NAME, false, 'nothing that others must agree to'],
];
for (const [conditions, attributes, saved, why] of atSaving) {
  const words = `${JSON.stringify(attributes)} under "${conditions}"`;
  test(`a library with ${words} is ${saved ? 'saved' : 'refused'}: ${why}`, async () => {
    await permit(conditions);
    const answer = await save(attributes);
    assert.equal(answer.status, saved ? 200 : 403, answer.text);
    if (saved) assert.equal((await use(answer.textAt('id'))).status, 200);
  });
}

test('a library without a ttl asks for none: the role says how long, and the session shortens it', async () => {
  const secondsOf = async (attributes: object): Promise<number> => {
    const library = (await ok(save(attributes))).textAt('id');
    const issued = await ok(use(library));
    const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(
      issued.text.replaceAll('\\n', '\n'),
    );
    const { validToDate } = new X509Certificate(pem?.[0] ?? assert.fail(issued.text));
    return (validToDate.getTime() - Date.now()) / 1000;
  };
  await permit('denied_parameters = { "ttl" = [] }');
  const role = {
    allow_any_name: true,
    allow_subdomains: true,
    key_type: 'ec',
    allowed_uri_sans: '*',
  };
  await ok(root('POST', 'ssl/roles/web', { ...role, ttl: '5m' }));
  const short = await secondsOf(NAME);
  assert.ok(short > 200 && short <= 301, String(short));
  assert.equal((await save({ ...NAME, ttl: '10m' })).status, 403);
  // Longer than a session: the session's own end counts.
  await ok(root('POST', 'ssl/roles/web', { ...role, ttl: '20h' }));
  const whole = await secondsOf(NAME);
  assert.ok(whole > 7 * 3600 && whole <= 8 * 3600 + 1, String(whole));
  await permit('');
  const own = await secondsOf({ ...NAME, ttl: '10m' });
  assert.ok(own > 500 && own <= 601, String(own));
});

test('what a person fills in is judged when it is filled in', async () => {
  await permit(DENIED);
  // Nobody here has a subject: what is left is the denied name.
  const hollow = await ok(save({ common_name: 'admin{{.Account.Subject}}.example.com' }));
  const refused = await use(hollow.textAt('id'));
  assert.equal(refused.status, 400);
  assert.match(refused.text, /may not ask for this/);
  const named = await ok(save({ common_name: '{{.Account.LoginName}}.example.com' }));
  assert.equal((await use(named.textAt('id'))).status, 400, 'the administrator is called so');
  const other = await ok(save({ common_name: 'x-{{.Account.LoginName}}.example.com' }));
  assert.equal((await use(other.textAt('id'))).status, 200);
});

test('policies are asked as they are when a session is made, not as they were', async () => {
  await permit('');
  const library = (await ok(save({ common_name: 'late.example.com' }))).textAt('id');
  assert.equal((await use(library)).status, 200);
  await permit('denied_parameters = { "common_name" = ["late.*"] }');
  assert.equal((await use(library)).status, 400);
  await permit('');
  assert.equal((await use(library)).status, 200);
  await ok(root('POST', `identity/entity/id/${entity}`, { policies: ['default'] }));
  assert.equal((await use(library)).status, 400, 'the policy is taken away');
  await ok(root('POST', `identity/entity/id/${entity}`, { policies: ['issuer'] }));
  // Whoever changes what is filled in answers for it from then on.
  const change = { version: 1, attributes: { common_name: 'later.example.com' } };
  await ok(broker.admin('PATCH', `credential-libraries/${library}`, change));
  await ok(root('POST', `identity/entity/id/${entity}`, { disabled: true }));
  assert.equal((await use(library)).status, 200);
  await ok(root('POST', `identity/entity/id/${entity}`, { disabled: false }));
});

const UP = 'auth/up/users';
await ok(root('POST', 'sys/auth/up', { type: 'userpass' }));
const upAccessor = (await ok(root('GET', 'sys/auth/up'))).textAt('data.accessor');

/** Somebody who may save libraries, by a log-in with the broker or by one with a password at `auth/up`. */
async function newMaker(how: 'broker' | 'userpass') {
  const person = await broker.person(['ids=*;type=*;actions=*']);
  const own = await client.call('GET', 'auth/token/lookup-self', undefined, {
    token: person.token,
  });
  const entity_id = own.textAt('data.entity_id');
  if (how === 'broker') {
    await ok(root('POST', `identity/entity/id/${entity_id}`, { policies: ['issuer'] }));
    return { ...person, entity_id, name: '' };
  }
  const name = `maker-${entity_id.slice(0, 8)}`;
  const password = 'correct horse battery';
  await ok(root('POST', `${UP}/${name}`, { password, token_policies: ['issuer'] }));
  const alias = { name, mount_accessor: upAccessor, canonical_id: entity_id };
  await ok(root('POST', 'identity/entity-alias', alias));
  const login = await ok(client.call('POST', `auth/up/login/${name}`, { password }, { token: '' }));
  const token = login.textAt('auth.client_token');
  const call = (method: string, path: string, body?: unknown) =>
    client.call(method, path, body, { token });
  return { ...person, call, entity_id, name };
}

type Maker = Awaited<ReturnType<typeof newMaker>>;

const makersEnds: [
  how: 'broker' | 'userpass',
  what: string,
  end: (maker: Maker) => Promise<unknown>,
  goesOn: boolean,
][] = [
  ['broker', 'nothing', async () => {}, true],
  [
    'broker',
    'the account',
    ({ account_id }) => broker.admin('DELETE', `accounts/${account_id}`),
    false,
  ],
  [
    'broker',
    'the account, of the user,',
    async ({ user_id, account_id }) => {
      const { version } = JSON.parse((await broker.admin('GET', `users/${user_id}`)).text);
      return broker.admin('POST', `users/${user_id}:remove-accounts`, {
        version,
        account_ids: [account_id],
      });
    },
    false,
  ],
  [
    'broker',
    'one of the grants',
    ({ role_id }) => broker.admin('DELETE', `roles/${role_id}`),
    true,
  ],
  ['broker', 'the user', ({ user_id }) => broker.admin('DELETE', `users/${user_id}`), false],
  [
    'broker',
    'the entity',
    ({ entity_id }) => root('DELETE', `identity/entity/id/${entity_id}`),
    false,
  ],
  ['userpass', 'nothing', async () => {}, true],
  [
    'userpass',
    'the user of the broker',
    ({ user_id }) => broker.admin('DELETE', `users/${user_id}`),
    false,
  ],
  ['userpass', 'the user of the mount', ({ name }) => root('DELETE', `${UP}/${name}`), false],
  ['userpass', 'the mount', () => root('DELETE', 'sys/auth/up'), false],
];
for (const [how, what, end, goesOn] of makersEnds) {
  const does = goesOn ? 'goes on' : 'ends';
  test(`what a library issues by the permission of who saved it with a log-in by ${how} ${does} with ${what} removed`, async () => {
    await permit('');
    const maker = await newMaker(how);
    const saved = await ok(
      maker.call('POST', 'credential-libraries', {
        credential_store_id: store,
        attributes: { role: 'web', common_name: 'made.example.com' },
      }),
    );
    const library = saved.textAt('id');
    assert.equal((await use(library)).status, 200);
    const ended = await end(maker);
    if (typeof ended === 'object') await ok(Promise.resolve(ended as Reply));
    const reply = await use(library);
    assert.equal(reply.status, goesOn ? 200 : 400, reply.text.slice(0, 300));
    if (!goesOn) assert.match(reply.text, /may not ask for this/);
  });
}

test('whose policies are asked is nothing that a library shows', async () => {
  const library = (await ok(save({ common_name: 'shown.example.com' }))).textAt('id');
  const shown = await saver.call('GET', `credential-libraries/${library}`);
  assert.doesNotMatch(shown.text, /saved_by|issuer/);
});
