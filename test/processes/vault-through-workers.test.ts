import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { withOpenssl } from '../support/openssl.ts';
import { startFakeVault } from '../support/vault.ts';
import { addTarget, addWorker, startCarryingServer } from '../support/workers-alone.ts';

const INNER = '"inner" in "/tags/type"';

/** A certificate that signs itself. */
function makePair(name: string): { cert: string; key: string } {
  let pair = { cert: '', key: '' };
  withOpenssl(({ must, read }) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    must('req', '-x509', ...key, ...subject, '-days', '2', '-keyout', 'k', '-out', 'c');
    const textOf = (file: string): string => Buffer.from(read(file)).toString('utf8');
    pair = { cert: textOf('c'), key: textOf('k') };
  });
  return pair;
}

const tunnels = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('gatehouse-tunnel-'));

test('a Vault server that this one may not ask is asked through a worker, by TLS from end to end', async (t) => {
  const server = await startCarryingServer(t);
  const pair = makePair('vault.test');
  const [secured, plain] = [await startFakeVault(pair), await startFakeVault()];
  t.after(() => Promise.all([secured.stop(), plain.stop()]));
  const own = { name: 'inside', listener: null, tags: { type: ['inner'] } };
  const { worker } = await addWorker(t, server, own);
  const before = tunnels();

  const create = (attributes: object) =>
    server.project.admin.call('POST', 'credential-stores', {
      scope_id: server.project.id,
      type: 'vault',
      attributes: { token: 'good', ...attributes },
    });
  const trusting = { address: secured.url, ca_cert: pair.cert, tls_server_name: 'vault.test' };
  const direct = await create(trusting);
  assert.equal(direct.status, 400, 'it is at an address that servers do not ask');
  assert.equal(secured.requests.length, 0);

  const made = await create({ ...trusting, worker_filter: INNER });
  assert.equal(made.status, 200, made.text);
  assert.equal(made.field('attributes.worker_filter'), INNER);
  assert.ok(secured.requests.some(({ path }) => path === 'auth/token/lookup-self'));
  assert.equal((await create({ address: plain.url, worker_filter: INNER })).status, 200);

  const misnamed = await create({ ...trusting, tls_server_name: 'a.test', worker_filter: INNER });
  assert.equal(misnamed.status, 400, 'the worker cannot stand in for it');

  const library = await server.ask('POST', 'credential-libraries', {
    credential_store_id: made.textAt('id'),
    type: 'vault-generic',
    attributes: { path: 'database/creds/app' },
  });
  const target = await addTarget(server, { attributes: { default_port: 22 } });
  await server.ask('POST', `targets/${target}:add-credential-sources`, {
    version: 1,
    brokered_credential_source_ids: [library.textAt('id')],
  });
  const session = await server.ask('POST', `targets/${target}:authorize-session`, {});
  assert.equal(session.textAt('credentials.0.secret.decoded.username'), 'v-app-1');

  for (const address of ['http://169.254.169.254', 'http://[::ffff:a9fe:a9fe]:80']) {
    const barred = await create({ address, worker_filter: INNER });
    assert.equal(barred.status, 400, 'what is never asked is not asked through a worker');
    assert.match(barred.text, /attributes\.address/);
  }

  for (const [worker_filter, because] of [
    ['bad expression', /Unable to successfully parse filter expression/],
    ['"none" in "/tags/type"', /no worker that the filter admits/],
    // The server's own worker asks as the server does.
    ['"embedded" in "/tags/type"', /./],
  ] as const) {
    const refused = await create({ ...trusting, worker_filter });
    assert.equal(refused.status, 400, worker_filter);
    assert.match(refused.text, because);
  }
  assert.deepEqual(tunnels(), before, 'nothing is left of them');

  await worker.kill();
  const asked = secured.requests.length;
  const late = await server.project.admin.call('POST', `targets/${target}:authorize-session`, {});
  assert.ok(late.status >= 400, late.text);
  assert.equal(secured.requests.length, asked);
});
