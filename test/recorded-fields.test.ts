import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyRoute } from '../src/app/route.ts';
import type { AnyBoundaryRoute } from '../src/broker/resource/route.ts';
import { declaredRoutes } from '../src/start/routes.ts';

// The record of a change says what was changed: every field of an endpoint that changes something stands
// in it as it came, or in this table, with the reason why not.

const SECRET: Readonly<Record<string, string>> = {
  password: 'a password',
  current_password: 'a password',
  new_password: 'a password',
  secret_id: 'a secret ID',
  token: 'a token, told by its keyed hash where it is known',
  id: 'a token’s own text, where its maker chooses it',
  key: 'a share of a key',
  pin: 'opens the token of a device',
  otp: 'hides the root token',
  private_key: 'a private key',
  pem_bundle: 'may hold private keys',
  private_key_passphrase: 'opens a private key',
  object: 'a stored secret',
  client_certificate: 'may have its key beside it',
  client_certificate_key: 'a private key',
  vault_client_cert_bundle: 'has a private key',
  external_service_url: 'its query may let somebody in',
  webhook_url: 'its path may let somebody in',
  webhook_secret: 'a key',
  http_request_body: 'may hold what is secret at another server',
  worker_generated_auth_token: 'a token',
  controller_generated_activation_token: 'a token',
  secrets: 'what an S3 server is asked with',
  input: 'is asked about because it is secret',
};
const NEEDLESS: Readonly<Record<string, string>> = {
  nonce: 'tells attempts apart, in the answer of each',
  csr: 'what it comes to is in the certificate',
  certificate: 'told by its serial number',
  crls: 'what they come to is in the answer, and they are signed',
  revoked_certs: 'the same of what is revoked',
  extensions: 'what they come to is in what is signed',

  cert_metadata: 'is kept by the serial number, which is told',
  stored_shares: 'has no effect',
  backup: 'refused',
  pgp_key: 'refused',
  pgp_keys: 'refused',
  recovery_pgp_keys: 'refused',
  root_token_pgp_key: 'refused',
  body: 'bytes of a protocol of its own',
};
/** Made by the server; passed over or refused in requests. */
const OUTPUT = new Set([
  'created_time',
  'updated_time',
  'scope',
  'authorized_actions',
  'authorized_collection_actions',
]);

const changing = ({ method }: { method: string }): boolean => method !== 'GET' && method !== 'LIST';

/** Fields that a record would lack, `attributes.x` for those of a subtype. */
function unrecorded(route: AnyRoute | AnyBoundaryRoute): string[] {
  const { audit = [], audit_within: within = {}, input, path } = route;
  const reason = (name: string): boolean => name in SECRET || name in NEEDLESS || OUTPUT.has(name);
  const own = Object.keys(input.shape).filter(
    (name) => !audit.includes(name) && !(name in within) && !path.includes(`{${name}`),
  );
  const shapes = 'attributes' in route ? Object.values(route.attributes ?? {}) : [];
  const inner = shapes
    .flatMap(({ shape }) => Object.keys(shape))
    .filter((name) => !(within.attributes ?? []).includes(name) && !reason(name));
  return [...own.filter((name) => !reason(name)), ...inner.map((name) => `attributes.${name}`)];
}

const vault: AnyRoute[] = [
  ...declaredRoutes.system,
  ...Object.values(declaredRoutes.secret).flat(),
  ...Object.values(declaredRoutes.auth).flat(),
].filter(changing);

test('a record has every field of a changing request of the authority’s API but secrets', () => {
  for (const route of vault) {
    assert.deepEqual(unrecorded(route), [], `${route.method} ${route.path}`);
  }
  assert.ok(vault.length > 100);
});

/** What the API gives each resource, and takes back unread. */
const PASSED_OVER: readonly string[] = ['id', 'attributes', 'scope_id', 'type', 'version'];

test('a record has every field of a changing request of the broker’s API but secrets', () => {
  const routes = (declaredRoutes.broker as readonly AnyBoundaryRoute[]).filter(changing);
  for (const route of routes) {
    const missing = unrecorded(route).filter((name) => !PASSED_OVER.includes(name));
    assert.deepEqual(missing, [], `${route.method} ${route.path}`);
  }
  assert.ok(routes.length > 60);
});

test('no record has a secret field', () => {
  const secrets = Object.keys(SECRET).filter((name) => !['id', 'input', 'key'].includes(name));
  for (const { audit = [], audit_within = {}, id } of [...vault, ...declaredRoutes.broker]) {
    const recorded = [...audit, ...Object.values(audit_within).flat()];
    assert.deepEqual(
      recorded.filter((name) => secrets.includes(name)),
      [],
      id,
    );
  }
});

test('every field that is declared as URLs is hashed in refused requests where it may have a password', () => {
  const declared = vault.flatMap(({ id, audit = [], places = [], input }) =>
    audit
      .filter((name) => /^URLs? of/.test(input.shape[name]?.description ?? ''))
      .map((name) => ({ field: `${id} ${name}`, isPlace: places.includes(name) })),
  );
  assert.equal(declared.length, 12, 'four fields of three endpoints');
  assert.deepEqual(
    declared.filter(({ isPlace }) => !isPlace),
    [],
  );
});
