import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CONNECTION_DEFAULTS } from '../../src/config/connections.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** A server behind a proxy that is believed, or not. */
const behind = (trusted_proxies: string[]): Promise<Client> =>
  startTestServer(
    { after },
    { config: { connections: { ...CONNECTION_DEFAULTS, trusted_proxies } } },
  );

async function boundToken({ call }: Client): Promise<string> {
  const role = { token_bound_cidrs: '198.51.100.0/24', allowed_policies: 'default' };
  assert.equal((await call('POST', 'auth/token/roles/near', role)).status, 204);
  return (await call('POST', 'auth/token/create/near', {})).textAt('auth.client_token');
}

/** Who asks, as the proxy says, and what comes of a token that is bound to 198.51.100.0/24. */
const ROWS: [forwarded: string, trusted: number, untrusted: number, why: string][] = [
  ['198.51.100.7', 200, 403, 'the client is near'],
  ['203.0.113.9', 403, 403, 'it is elsewhere'],
  ['198.51.100.7, 203.0.113.9', 403, 403, 'it only says that it is near'],
  ['203.0.113.9, 198.51.100.7', 200, 403, 'it says that it is elsewhere, and is near'],
  ['198.51.100.7, 127.0.0.1', 200, 403, 'through another trusted proxy'],
  ['nobody', 400, 403, 'the proxy names no address'],
];

const trusting = await behind(['127.0.0.1']);
const other = await behind(['192.0.2.0/24']);
const near = await boundToken(trusting);
const there = await boundToken(other);

for (const [forwarded, trusted, untrusted, why] of ROWS) {
  test(`X-Forwarded-For: ${forwarded} is ${trusted} where it is trusted, ${untrusted} elsewhere: ${why}`, async () => {
    const headers = { 'x-forwarded-for': forwarded };
    const options = (token: string) => ({ token, headers });
    const inside = await trusting.call('GET', 'auth/token/lookup-self', undefined, options(near));
    assert.equal(inside.status, trusted);
    const outside = await other.call('GET', 'auth/token/lookup-self', undefined, options(there));
    assert.equal(outside.status, untrusted);
  });
}

test('a client without a header is the proxy itself', async () => {
  const reply = await trusting.call('GET', 'auth/token/lookup-self', undefined, { token: near });
  assert.equal(reply.status, 403);
});

test('a header that names no address is refused in the words of each API', async () => {
  const headers = { 'x-forwarded-for': 'nobody' };
  const why = 'X-Forwarded-For names what is no IP address';
  const vault = await trusting.call('GET', 'sys/health', undefined, { headers });
  assert.deepEqual([vault.status, vault.field('errors')], [400, [why]]);
  const broker = await trusting.call('GET', 'scopes', undefined, { headers });
  assert.deepEqual([broker.status, broker.textAt('message')], [400, why]);
});

test('a flood of log-ins from one address holds up nobody else behind the same proxy', async () => {
  await trusting.call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await trusting.call('POST', 'auth/userpass/users/ann', { password: 'a right password' });
  const logIn = (name: string, forwarded: string) =>
      trusting.call('POST', `auth/userpass/login/${name}`, { password: 'a right password' }, {
        token: '',
        headers: { 'x-forwarded-for': forwarded },
      }); // biome-ignore format: one call
  const flood = Array.from({ length: 60 }, (_, at) => logIn(`nobody${at}`, '203.0.113.9'));
  const right = await logIn('ann', '198.51.100.7');
  assert.equal(right.status, 200, right.text);
  await Promise.all(flood);
});

test('a trusted proxy may have more connections than one client', async (t) => {
  const limits = { ...CONNECTION_DEFAULTS, max_connections_per_address: 2 };
  for (const [trusted_proxies, kept] of [
    [['127.0.0.1'], 6],
    [['192.0.2.1'], 2],
  ] as const) {
    const client = await startTestServer(t, {
      config: { connections: { ...limits, trusted_proxies } },
      on_one: 'the listener is looked into',
    });
    await Promise.allSettled(Array.from({ length: 6 }, () => client.call('GET', 'sys/health')));
    const count = client.running.http.countConnections();
    assert.ok(kept === 2 ? count <= 2 : count > 2, `${count} connections, ${kept} wanted`);
  }
});
