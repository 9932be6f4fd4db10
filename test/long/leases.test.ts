import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { workOf } from '../../src/access/leases/ending.operations.ts';
import { endDueLeases } from '../../src/access/leases/expiration.operations.ts';
import { systemCaller } from '../../src/access/system-caller.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

interface Served extends Client {
  clock: { now: number };
  /** Issues by the role `web`, whose certificates come with leases. */
  issue(token?: string): Promise<Reply>;
  /** The text of a new token with everything allowed beneath `pki/`. */
  newToken(by?: string, body?: Record<string, unknown>): Promise<string>;
  isRevoked(serial: string): Promise<boolean>;
  /** What the job does on its timer. */
  runJob(): Promise<void>;
}

async function serve(t: TestContext): Promise<Served> {
  const clock = { now: Date.now() };
  const client = await startTestServer(t, { now: () => clock.now });
  const { call } = client;
  const { app } = client.running;
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const key_type = 'ed25519';
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type });
  const role = { allow_any_name: true, key_type, ttl: '1h' };
  await call('POST', 'pki/roles/web', { ...role, generate_lease: true });
  await call('POST', 'pki/roles/plain', role);
  const all = '{ capabilities = ["create", "read", "update", "list", "sudo"] }';
  const policy = `path "pki/*" ${all}\npath "auth/token/create" ${all}`;
  await call('POST', 'sys/policies/acl/issuer', { policy });
  return {
    ...client,
    clock,
    issue: (token = 'root') => call('POST', 'pki/issue/web', { common_name: 'a.test' }, { token }),
    async newToken(by = 'root', body = {}) {
      const request = { policies: ['issuer'], ttl: '30m', ...body };
      const made = await call('POST', 'auth/token/create', request, { token: by });
      assert.equal(made.status, 200, made.text);
      return made.textAt('auth.client_token');
    },
    async isRevoked(serial) {
      const list = await call('LIST', 'pki/certs/revoked');
      const keys = list.field('data.keys');
      return Array.isArray(keys) && keys.includes(serial);
    },
    runJob: () => endDueLeases(app, workOf(app, systemCaller('job', 'test'))),
  };
}

test('a certificate of a role with generate_lease has a lease; revoking that revokes it', async (t) => {
  const { call, issue, isRevoked, clock } = await serve(t);
  const issued = await issue();
  const lease_id = issued.textAt('lease_id');
  assert.match(lease_id, /^pki\/issue\/web\/[0-9A-Za-z]{24}$/);
  assert.equal(issued.field('renewable'), false);
  const left = Number(issued.field('data.expiration')) - Math.floor(clock.now / 1000);
  assert.equal(issued.field('lease_duration'), left);

  const found = await call('POST', 'sys/leases/lookup', { lease_id });
  assert.equal(found.field('data.id'), lease_id);
  assert.equal(found.field('data.ttl'), left);
  assert.equal(found.field('data.renewable'), false);
  assert.equal(found.field('data.last_renewal'), null);

  assert.equal((await call('PUT', 'sys/leases/revoke', { lease_id })).status, 204);
  assert.equal(await isRevoked(issued.textAt('data.serial_number')), true);
  const gone = await call('POST', 'sys/leases/lookup', { lease_id });
  assert.deepEqual([gone.status, gone.field('errors')], [400, ['invalid lease']]);
  assert.equal((await call('PUT', 'sys/leases/revoke', { lease_id })).status, 204, 'once more');
});

test('a role without generate_lease gives no lease, and no_store wins over it', async (t) => {
  const { call } = await serve(t);
  const plain = await call('POST', 'pki/issue/plain', { common_name: 'a.test' });
  assert.deepEqual([plain.field('lease_id'), plain.field('lease_duration')], ['', 0]);
  await call('POST', 'pki/roles/unkept', {
    allow_any_name: true,
    key_type: 'ed25519',
    ttl: '1h',
    generate_lease: true,
    no_store: true,
  });
  const unkept = await call('POST', 'pki/issue/unkept', { common_name: 'a.test' });
  assert.equal(unkept.field('lease_id'), '', unkept.text);
});

test('revoking a token revokes the certificates that it and its children asked for', async (t) => {
  const { call, issue, newToken, isRevoked } = await serve(t);
  const parent = await newToken();
  const child = await newToken(parent);
  const batch = await newToken(parent, { type: 'batch' });
  const unrelated = await newToken();
  const [first, second, third, other] = [
    await issue(parent),
    await issue(child),
    await issue(batch),
    await issue(unrelated),
  ];
  assert.equal((await call('POST', 'auth/token/revoke', { token: parent })).status, 204);
  for (const issued of [first, second, third]) {
    assert.equal(await isRevoked(issued.textAt('data.serial_number')), true);
    const lease_id = issued.textAt('lease_id');
    assert.equal((await call('POST', 'sys/leases/lookup', { lease_id })).status, 400);
  }
  assert.equal(await isRevoked(other.textAt('data.serial_number')), false);
  assert.equal((await issue(child)).status, 403);
});

test('an orphaned child keeps its leases when the token above it is revoked', async (t) => {
  const { call, issue, newToken, isRevoked } = await serve(t);
  const parent = await newToken();
  const issued = await issue(await newToken(parent));
  await call('POST', 'auth/token/revoke-orphan', { token: parent });
  assert.equal(await isRevoked(issued.textAt('data.serial_number')), false);
});

test('leases of a token that has run out are ended by the jobs', async (t) => {
  const { call, issue, newToken, isRevoked, runJob, clock } = await serve(t);
  const issued = await issue(await newToken());
  const serial = issued.textAt('data.serial_number');
  clock.now += 29 * 60_000;
  for (const path of ['auth/token/tidy', 'sys/leases/tidy']) {
    const begun = await call('POST', path);
    assert.equal(begun.status, 202, path);
    assert.match(begun.text, /"data":null,.*"warnings":\["/);
  }
  await runJob();
  assert.equal(await isRevoked(serial), false);
  clock.now += 60_000;
  await call('POST', 'auth/token/tidy');
  await runJob();
  assert.equal(await isRevoked(serial), true);
});

test('a lease that ends with its certificate revokes nothing', async (t) => {
  const { call, issue, isRevoked, runJob, clock } = await serve(t);
  const issued = await issue();
  clock.now += 3600_000;
  const lease_id = issued.textAt('lease_id');
  assert.equal((await call('POST', 'sys/leases/lookup', { lease_id })).status, 400);
  await runJob();
  assert.equal(await isRevoked(issued.textAt('data.serial_number')), false);
  assert.equal((await call('LIST', 'sys/leases/lookup/pki')).status, 404);
});

test('revoked with sync=false, a lease is dead at once and its certificate follows', async (t) => {
  const { call, issue, isRevoked, runJob } = await serve(t);
  const issued = await issue();
  const lease_id = issued.textAt('lease_id');
  assert.equal((await call('PUT', 'sys/leases/revoke', { lease_id, sync: false })).status, 202);
  assert.equal((await call('POST', 'sys/leases/lookup', { lease_id })).status, 400);
  await runJob();
  assert.equal(await isRevoked(issued.textAt('data.serial_number')), true);
});

test('leases are listed by segments, counted, and revoked beneath a prefix and nowhere else', async (t) => {
  const { call, issue, isRevoked } = await serve(t);
  await call('POST', 'pki/roles/web2', {
    allow_any_name: true,
    key_type: 'ed25519',
    ttl: '1h',
    generate_lease: true,
  });
  const [first, second] = [await issue(), await issue()];
  const other = await call('POST', 'pki/issue/web2', { common_name: 'a.test' });
  assert.deepEqual((await call('LIST', 'sys/leases/lookup')).field('data.keys'), ['pki/']);
  const roles = await call('LIST', 'sys/leases/lookup/pki/issue');
  assert.deepEqual(roles.field('data.keys'), ['web/', 'web2/']);
  const ids = await call('LIST', 'sys/leases/lookup/pki/issue/web/');
  const last = (reply: Reply) => reply.textAt('lease_id').split('/').at(-1) ?? '';
  assert.deepEqual(ids.field('data.keys'), [last(first), last(second)].sort());
  assert.equal((await call('GET', 'sys/leases/count')).field('data.lease_count'), 3);

  assert.equal((await call('PUT', 'sys/leases/revoke-prefix/pki/issue/web')).status, 204);
  assert.equal(await isRevoked(first.textAt('data.serial_number')), true);
  assert.equal(await isRevoked(second.textAt('data.serial_number')), true);
  assert.equal(await isRevoked(other.textAt('data.serial_number')), false);
  const rest = await call('PUT', 'sys/revoke-prefix/pki', { sync: false });
  assert.equal(rest.status, 202, rest.text);
  assert.equal((await call('GET', 'sys/leases/count')).field('data.lease_count'), 0);
});

const suffixed = ['sys/leases/revoke/', 'sys/revoke/', 'sys/leases/revoke-force/'];
test('the old paths, and the id at the end of the path, work alike', async (t) => {
  const { call, issue, isRevoked } = await serve(t);
  for (const base of suffixed) {
    const issued = await issue();
    const answer = await call('PUT', `${base}${issued.textAt('lease_id')}`);
    assert.equal(answer.status, 204, `${base}: ${answer.text}`);
    assert.equal(await isRevoked(issued.textAt('data.serial_number')), true, base);
  }
});

test('leases of certificates are not renewable, and an id must be given', async (t) => {
  const { call, issue } = await serve(t);
  const lease_id = (await issue()).textAt('lease_id');
  for (const path of ['sys/leases/renew', 'sys/renew', `sys/leases/renew/${lease_id}`]) {
    const answer = await call('PUT', path, { lease_id });
    assert.deepEqual([answer.status, answer.field('errors')], [400, ['lease is not renewable']]);
  }
  for (const path of ['sys/leases/renew', 'sys/leases/revoke', 'sys/leases/lookup']) {
    const answer = await call('PUT', path, {});
    assert.deepEqual(
      [answer.status, answer.field('errors')],
      [400, ['lease_id must be specified']],
    );
  }
});

test('prefixes are for those with sudo', async (t) => {
  const { call, newToken } = await serve(t);
  const all = '{ capabilities = ["create", "read", "update", "delete", "list"] }';
  await call('POST', 'sys/policies/acl/leases', { policy: `path "sys/*" ${all}` });
  const token = await newToken('root', { policies: ['leases'] });
  for (const [method, path, status] of [
    ['PUT', 'sys/leases/revoke-prefix/pki', 403],
    ['PUT', 'sys/revoke-prefix/pki', 403],
    ['PUT', 'sys/leases/revoke-force/pki', 403],
    ['LIST', 'sys/leases/lookup/pki', 403],
    ['PUT', 'sys/leases/revoke/pki/issue/web/unknown', 204],
  ] as const) {
    const answer = await call(method, path, method === 'PUT' ? {} : undefined, { token });
    assert.equal(answer.status, status, `${method} ${path}`);
  }
});

test('of issuing and revoking a token at once, no certificate is left without an end', async (t) => {
  const { call, issue, newToken, isRevoked, runJob } = await serve(t);
  for (let round = 0; round < 3; round++) {
    const token = await newToken();
    const asked = Array.from({ length: 6 }, () => issue(token));
    const revoked = call('POST', 'auth/token/revoke', { token });
    const issued = (await Promise.all(asked)).filter(({ status }) => status === 200);
    assert.equal((await revoked).status, 204);
    await runJob();
    for (const one of issued) {
      assert.equal(await isRevoked(one.textAt('data.serial_number')), true);
    }
  }
});
