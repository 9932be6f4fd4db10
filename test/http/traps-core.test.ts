/** The calls around the CA that clients cannot do without. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
test('refusals of mounting and tuning have the words that clients look for', async () => {
  const refusals: [path: string, body: unknown, says: RegExp][] = [
    ['sys/mounts/k1', {}, /backend type must be specified as a string/],
    ['sys/mounts/k1', { type: 'nothing' }, /plugin not found in the catalog/],
    [
      'sys/mounts/k1',
      { type: 'pki', config: { default_lease_ttl: '2h', max_lease_ttl: '1h' } },
      /given default lease TTL greater than given max lease TTL/,
    ],
    [
      'sys/mounts/k1',
      { type: 'pki', config: { listing_visibility: 'loud' } },
      /invalid listing_visibility/,
    ],
    ['sys/mounts/sys', { type: 'pki' }, /cannot mount/],
    ['sys/mounts/none/tune', { description: 'x' }, /no mount entry found/],
  ];
  for (const [path, body, says] of refusals) {
    const answer = await call('POST', path, body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
    assert.match(answer.text, says);
  }
  assert.equal((await call('GET', 'sys/mounts/k1')).status, 400, 'nothing was mounted');
});

test('a tuning that would leave the default beyond the maximum changes nothing', async () => {
  await call('POST', 'sys/mounts/k2', { type: 'pki' });
  const bad = await call('POST', 'sys/mounts/k2/tune', {
    default_lease_ttl: '2h',
    max_lease_ttl: '1h',
  });
  assert.equal(bad.status, 400);
  assert.match(
    bad.text,
    /backend max lease TTL of .* would be less than backend default lease TTL/,
  );
  const tune = await call('GET', 'sys/mounts/k2/tune');
  assert.equal(tune.field('data.max_lease_ttl'), 2_764_800);
});

test('a tuning with the empty text leaves a time as it is, system gives it back to the server', async () => {
  await call('POST', 'sys/mounts/k2b', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const tune = async (body: unknown) => {
    assert.equal((await call('POST', 'sys/mounts/k2b/tune', body)).status, 204);
    return (await call('GET', 'sys/mounts/k2b/tune')).field('data.max_lease_ttl');
  };
  assert.equal(await tune({ default_lease_ttl: '24h', max_lease_ttl: '' }), 315_360_000);
  assert.equal(await tune({ max_lease_ttl: 'system' }), 2_764_800);
});

test('a list that is tuned to nothing is gone from the answer', async () => {
  await call('POST', 'sys/mounts/k3', { type: 'pki' });
  const tune = async (body: unknown) => {
    assert.equal((await call('POST', 'sys/mounts/k3/tune', body)).status, 204);
    return call('GET', 'sys/mounts/k3/tune');
  };
  const set = await tune({
    passthrough_request_headers: ['If-Modified-Since'],
    allowed_response_headers: 'Last-Modified,Link',
  });
  assert.deepEqual(set.field('data.passthrough_request_headers'), ['If-Modified-Since']);
  assert.deepEqual(set.field('data.allowed_response_headers'), ['Last-Modified', 'Link']);
  const kept = await tune({ description: 'kept' });
  assert.deepEqual(kept.field('data.allowed_response_headers'), ['Last-Modified', 'Link']);
  const cleared = await tune({ allowed_response_headers: [] });
  assert.equal(cleared.field('data.allowed_response_headers'), undefined);
  assert.deepEqual(cleared.field('data.passthrough_request_headers'), ['If-Modified-Since']);
});

test('what was unmounted is gone, also from the paths without a token', async () => {
  await call('POST', 'sys/mounts/k4', { type: 'pki' });
  await call('POST', 'k4/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'k4/roles/x', {});
  assert.equal((await call('DELETE', 'sys/mounts/k4')).status, 204);
  assert.equal((await call('GET', 'k4/ca', undefined, { token: '' })).status, 403);
  await call('POST', 'sys/mounts/k4', { type: 'pki' });
  assert.equal((await call('LIST', 'k4/roles')).status, 404);
  assert.equal((await call('LIST', 'k4/certs')).status, 404);
  assert.equal((await call('GET', 'k4/ca')).status, 204);
});

test('a display name has only letters, digits and hyphens', async () => {
  for (const [asked, shown] of [
    ['a b', 'token-a-b'],
    ['web', 'token-web'],
    ['', 'token'],
    ['a--b', 'token-a--b'],
    ['a"<b', 'token-a--b'],
  ] as const) {
    const made = await call('POST', 'auth/token/create', { display_name: asked });
    const looked = await call('GET', 'auth/token/lookup-self', undefined, {
      token: made.textAt('auth.client_token'),
    });
    assert.equal(looked.field('data.display_name'), shown);
  }
});

test('with a token go its children, an orphan stays', async () => {
  const parent = (await call('POST', 'auth/token/create', {})).textAt('auth.client_token');
  const make = async (token: string, body: unknown) =>
    (await call('POST', 'auth/token/create', body, { token })).textAt('auth.client_token');
  const child = await make(parent, {});
  const grandchild = await make(child, {});
  const orphan = await make(parent, { no_parent: true });
  await call('POST', 'auth/token/revoke', { token: parent });
  const alive = async (token: string) =>
    (await call('GET', 'auth/token/lookup-self', undefined, { token })).status;
  assert.deepEqual(
    [await alive(parent), await alive(child), await alive(grandchild), await alive(orphan)],
    [403, 403, 403, 200],
  );
});

test('a root token can do everything, and is told so in one word', async () => {
  const answer = await call('POST', 'sys/capabilities-self', { paths: ['ca/anything'] });
  assert.deepEqual(answer.field('data.capabilities'), ['root']);
  assert.deepEqual(answer.field('data.ca/anything'), ['root']);
  const none = await call('POST', 'sys/capabilities-self', {});
  assert.equal(none.status, 400);
  assert.match(none.text, /paths must be supplied/);
});

test('a policy that cannot be read is refused with its mistake', async () => {
  const refusals: [policy: string, says: RegExp][] = [
    ['path "ca/+*" { capabilities = ["read"] }', /\+\*/],
    ['path "ca" { capabilities = ["reed"] }', /invalid capability/],
    ['path "ca" { capabilitys = ["read"] }', /invalid key/],
    ['path "ca" {', /failed to parse policy/],
    ['', /'policy' parameter not supplied or empty/],
  ];
  for (const [policy, says] of refusals) {
    const answer = await call('POST', 'sys/policies/acl/k8', { policy });
    assert.equal(answer.status, 400, policy);
    assert.match(answer.text, says);
  }
  assert.equal((await call('GET', 'sys/policies/acl/k8')).status, 404);
  const root = await call('POST', 'sys/policies/acl/root', { policy: 'path "a" {}' });
  assert.equal(root.status, 400);
  assert.match(root.text, /cannot update \\"root\\" policy/);
});

test('a wrong password and an unknown user are one refusal', async () => {
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await call('POST', 'auth/userpass/users/bob', { password: 'right horse' });
  const logIn = (user: string, password: string) =>
    call('POST', `auth/userpass/login/${user}`, { password }, { token: '' });
  const right = await logIn('bob', 'right horse');
  assert.equal(right.status, 200, right.text);
  assert.equal(right.field('auth.metadata.username'), 'bob');
  const wrong = await logIn('bob', 'wrong horse');
  const unknown = await logIn('eve', 'right horse');
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /invalid username or password/);
  assert.equal(unknown.text, wrong.text);
});

test('a sealed server says so in JSON, to whoever asks after its health', async (t) => {
  const sealed = await startTestServer(t);
  assert.equal((await sealed.call('PUT', 'sys/seal')).status, 204);
  const health = await sealed.call('GET', 'sys/health', undefined, { token: '' });
  assert.equal(health.status, 503);
  assert.equal(health.field('sealed'), true);
  assert.equal(health.field('initialized'), true);
  const asked = await sealed.call('GET', 'sys/health?sealedcode=299', undefined, { token: '' });
  assert.equal(asked.status, 299);
  const bad = await sealed.call('GET', 'sys/health?sealedcode=x', undefined, { token: '' });
  assert.equal(bad.status, 400);
});
