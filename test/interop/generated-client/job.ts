/**
 * The two jobs of the README, done with a client that was generated from docs/api/openapi.json. Arguments: the
 * server's address, a root token. Exits 0 when everything held.
 */

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

const [, , address = '', rootToken = ''] = process.argv;
const baseUrl = `${address}/v1`;

/** What was answered with; else the refusal. */
function must<Data>({ data, response }: { data?: Data; response: Response }): Data {
  if (data === undefined) throw new Error(`${response.status} at ${response.url}`);
  return data;
}

const DAY = 24 * 3600;

async function issueCertificate(): Promise<void> {
  const vault = createClient<paths>({ baseUrl, headers: { 'X-Vault-Token': rootToken } });
  const pki_mount_path = 'typed';
  const mounted = await vault.POST('/sys/mounts/{path}', {
    params: { path: { path: pki_mount_path } },
    body: { type: 'pki', config: { max_lease_ttl: 3650 * DAY } },
  });
  assert.equal(mounted.response.status, 204);
  const { data: root } = must(
    await vault.POST('/{pki_mount_path}/root/generate/{exported}', {
      params: { path: { pki_mount_path, exported: 'internal' } },
      body: { common_name: 'Example Root', key_type: 'ec', ttl: 32 * DAY },
    }),
  );
  const { data: role } = must(
    await vault.POST('/{pki_mount_path}/roles/{name}', {
      params: { path: { pki_mount_path, name: 'web' } },
      body: {
        allowed_domains: ['example.com'],
        allow_subdomains: true,
        key_type: 'ec',
        max_ttl: 3 * DAY,
      },
    }),
  );
  assert.deepEqual(role.allowed_domains, ['example.com']);
  const issue = (common_name: string) =>
    vault.POST('/{pki_mount_path}/issue/{role}', {
      params: { path: { pki_mount_path, role: 'web' } },
      body: { common_name },
    });

  const { data: issued } = must(await issue('www.example.com'));
  const leaf = new X509Certificate(issued.certificate);
  assert.equal(leaf.checkHost('www.example.com'), 'www.example.com');
  assert.ok(leaf.verify(new X509Certificate(root.certificate).publicKey));
  assert.equal(issued.issuing_ca.trim(), root.certificate.trim());

  const refused: components['schemas']['VaultErrors'] | undefined = (await issue('www.example.org'))
    .error;
  assert.match(refused?.errors.join() ?? '', /not allowed by this role/);

  const { data: revoked } = must(
    await vault.POST('/{pki_mount_path}/revoke', {
      params: { path: { pki_mount_path } },
      body: { serial_number: issued.serial_number },
    }),
  );
  assert.ok(revoked && 'state' in revoked);
  assert.equal(revoked.state, 'revoked');
  const { data: crl } = await vault.GET('/{pki_mount_path}/crl', {
    params: { path: { pki_mount_path } },
    parseAs: 'arrayBuffer',
  });
  assert.ok(crl && crl.byteLength > 0);
}

async function authorizeSession(): Promise<void> {
  const anonymous = createClient<paths>({ baseUrl });
  const logIn = (password: string) =>
    anonymous.POST('/auth-methods/{id}:authenticate', {
      params: { path: { id: 'ampw_1234567890' } },
      body: { attributes: { login_name: 'admin', password } },
    });
  const wrong: components['schemas']['BoundaryError'] | undefined = (await logIn('wrong')).error;
  assert.equal(wrong?.kind, 'Unauthenticated');
  const token = must(await logIn('password')).attributes?.token;
  assert.ok(typeof token === 'string');

  const broker = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  const scope_id = 'p_1234567890';
  const listed = must(await broker.GET('/targets', { params: { query: { scope_id } } }));
  const target = listed.items?.find(({ type }) => type === 'tcp');
  assert.ok(target?.id);
  const authorized = must(
    await broker.POST('/targets/{id}:authorize-session', {
      params: { path: { id: target.id } },
      body: {},
    }),
  );
  assert.equal(authorized.target_id, target.id);
  assert.ok(authorized.session_id && authorized.authorization_token);
  const session = must(
    await broker.GET('/sessions/{id}', { params: { path: { id: authorized.session_id } } }),
  );
  assert.equal(session.status, 'pending');
  const canceled = must(
    await broker.POST('/sessions/{id}:cancel', {
      params: { path: { id: authorized.session_id } },
      body: { version: session.version },
    }),
  );
  assert.equal(canceled.status, 'canceling');
}

await issueCertificate();
await authorizeSession();
console.log('the generated client did both jobs');
