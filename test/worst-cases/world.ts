import { join } from 'node:path';
import { FAKE_PIN } from '../support/fake-token.ts';
import { brokerOver } from '../support/seeded-broker.ts';
import { type Client, callOver } from '../support/server.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Somebody who asks, by the headers that say so. */
export interface Asker {
  name: 'nobody' | 'everything' | 'little';
  vault: Readonly<Record<string, string>>;
  broker: Readonly<Record<string, string>>;
}

/** What is there, so that a request gets as far as the field that is tried. */
export interface World {
  /** Values of path parameters, by endpoint or for all of them. */
  paths: Fields;
  /** Ids of things of the broker, by type. */
  ids: Readonly<Record<string, string>>;
  /** Fields that go along with the one that is tried, by endpoint. */
  bodies: Readonly<Record<string, Fields>>;
  /** The same for what the broker makes, by subtype. */
  subtypes: Readonly<Record<string, Readonly<Record<string, Fields>>>>;
  askers: readonly Asker[];
}

/** A key of the device that the server is started with. */
const DEVICE_KEY = {
  ...{ library: 'fake', token_label: 'a', pin: FAKE_PIN, key_label: 'web', curve: 'P256' },
  ...{ mechanism: '0x1041', allow_generate_key: true, any_mount: true },
};

/** Conditions that every request is held against, and patterns that it has to be. */
const LITTLE = `
path "*" {
  capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"]
  allowed_parameters = { "*" = [], "common_name" = ["*.example.com", "*a*b*", "a*"], "policies" = ["a*", "*b"] }
  denied_parameters = { "zz" = ["a*"] }
}
path "+/+/+/+/+/x" { capabilities = ["deny"] }
path "pki/+/{{identity.entity.name}}/*" { capabilities = ["read"] }`;

const GRANTS = [
  'ids=*;type=*;actions=no-op,list,create,update;output_fields=id,name',
  'ids={{.User.Id}};actions=read',
];

/** Where the server is, and where it may write. */
export interface Place {
  url: string;
  directory: string;
}

/** Makes one of everything. */
export async function makeWorld({ url, directory }: Place): Promise<World> {
  const call = callOver(url, 'root');
  const done = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer;
  };
  await done('POST', 'sys/mounts/pki', { type: 'pki' });
  const subject = { common_name: 'Root', key_type: 'ec', ttl: '8760h' };
  const root = await done('POST', 'pki/root/generate/internal', subject);
  const authority = root.textAt('data.certificate');
  const any = { allowed_other_sans: '*', allowed_uri_sans: '*', allowed_user_ids: '*' };
  const open = { allow_any_name: true, enforce_hostnames: false, allowed_serial_numbers: '*' };
  await done('POST', 'pki/roles/web', { ...any, ...open, key_type: 'any', require_cn: false });
  const domains = { allowed_domains: ['example.com', '*.example.org'], allow_subdomains: true };
  const named = { ...domains, ...any, allow_glob_domains: true, key_type: 'any' };
  await done('POST', 'pki/roles/named', named);
  const program =
    'ValidationOutput{key_type: "ec", template: CertTemplate{Subject: PKIX.Name{CommonName: has(request.common_name) ? string(request.common_name) : "a.test"}}}';
  await done('POST', 'pki/cel/roles/web', { cel_program: { expression: program } });
  await done('POST', 'sys/managed-keys/pkcs11/web', DEVICE_KEY);
  const leaf = await done('POST', 'pki/issue/web', {
    common_name: 'a.test',
    key_type: 'ec',
    ttl: '1h',
  });
  const signed = await done('POST', 'pki/issuer/default/sign-revocation-list', { crl_number: 1 });
  const crl = signed.textAt('data.crl');
  await done('POST', 'sys/auth/userpass', { type: 'userpass' });
  await done('POST', 'auth/userpass/users/boss', { password: 'long enough' });
  await done('POST', 'sys/auth/approle', { type: 'approle' });
  await done('POST', 'auth/approle/role/app', { token_policies: 'default' });
  const role_id = (await done('GET', 'auth/approle/role/app/role-id')).textAt('data.role_id');
  const secret = await done('POST', 'auth/approle/role/app/secret-id', {});
  await done('POST', 'auth/token/roles/maker', { allowed_policies: ['default'] });
  const entity = await done('POST', 'identity/entity', { name: 'ent' });
  const group = await done('POST', 'identity/group', { name: 'grp' });
  await done('POST', 'sys/policies/acl/little', { policy: LITTLE });
  const made = await done('POST', 'auth/token/create', { policies: ['little'] });
  const little = made.textAt('auth.client_token');
  const broker = await brokerOver({ url, call } as Client);
  const { project, auth_method, make } = broker;
  const person = await broker.person(GRANTS);
  const credential_store_id = await make('credential-stores', {
    scope_id: project,
    type: 'static',
  });
  const csca = await make('credential-stores', {
    scope_id: project,
    type: 'authority',
    attributes: { mount: 'pki' },
  });
  const password = { username: 'u', password: 'p' };
  const credential = await make('credentials', {
    credential_store_id,
    type: 'username_password',
    attributes: password,
  });
  const alias = await make('aliases', { scope_id: 'global', type: 'target', value: 'one.test' });
  const role = await make('roles', { scope_id: 'global' });
  const libraryPaths = { path: 'secret/a', http_method: 'POST' };
  const library = {
    credential_store_id: csca,
    type: 'authority-certificate',
    attributes: { role: 'web', common_name: 'a.test' },
  };
  const clca = await make('credential-libraries', library);
  const at = person.token.split('_').slice(0, 2).join('_');
  const inVault = { credential_store_id: 'csvlt_0000000000' };
  const worker = (await broker.admin('GET', 'workers?scope_id=global')).textAt('items.0.id');
  const pair = {
    certificate: leaf.textAt('data.certificate'),
    private_key: leaf.textAt('data.private_key'),
  };
  const log = join(directory, 'audit.log');
  await done('POST', 'sys/audit/file', { type: 'file', options: { file_path: log } });
  const mount_accessor = (await done('GET', 'sys/auth')).textAt('data.userpass/.accessor');
  return {
    paths: {
      name: 'web',
      // Of devices.
      type: 'pkcs11',
      role: 'web',
      issuer_ref: 'default',
      key_ref: 'default',
      exported: 'internal',
      username: 'boss',
      role_name: 'app',
      serial: leaf.textAt('data.serial_number'),
      path: 'pki/tune',
      'auth-write': 'userpass/tune',
      'auth-read': 'userpass/tune',
      'auditing-enable-device': 'file',
      'auditing-calculate-hash': 'file',
      'cubbyhole-write': 'a/b',
      'token-write-role': 'maker',
      'token-create-against-role': 'maker',
      'entity-read-by-name': 'ent',
      'entity-update-by-name': 'ent',
      'group-update-by-name': 'grp',
      'entity-update-by-id': entity.textAt('data.id'),
      'group-update-by-id': group.textAt('data.id'),
      'policies-write-acl-policy': 'tried',
      'policy-write-acl-policy': 'tried',
      id: 'none',
      prefix: 'none/at/all',
      lease_id: 'pki/issue/web/none',
      mount_accessor: 'none',
      alias_identifier: 'none',
    },
    ids: {
      scope: project,
      'auth-method': auth_method,
      account: person.account_id,
      'auth-token': at,
      user: person.user_id,
      group: await make('groups', { scope_id: 'global' }),
      'managed-group': 'mgldap_0000000000',
      role,
      'host-catalog': 'hcst_1234567890',
      'host-set': 'hsst_1234567890',
      host: 'hst_1234567890',
      'credential-store': credential_store_id,
      'credential-library': clca,
      credential,
      target: 'ttcp_1234567890',
      session: 's_0000000000',
      alias,
      worker,
    },
    bodies: {
      'pki-issue-with-role': { common_name: 'a.test', key_type: 'ec', ttl: '1h' },
      'pki-issuer-issue-with-role': { common_name: 'a.test', key_type: 'ec', ttl: '1h' },
      'pki-sign-with-role': { common_name: 'a.test', csr: CSR, ttl: '1h' },
      'pki-issuer-sign-with-role': { common_name: 'a.test', csr: CSR, ttl: '1h' },
      'pki-sign-verbatim': { csr: CSR, ttl: '1h' },
      'pki-sign-verbatim-with-role': { csr: CSR, ttl: '1h' },
      'pki-issuer-sign-verbatim': { csr: CSR, ttl: '1h' },
      'pki-issuer-sign-verbatim-with-role': { csr: CSR, ttl: '1h' },
      'pki-generate-root': subject,
      'pki-issuers-generate-root': subject,
      'pki-rotate-root': subject,
      'pki-generate-intermediate': { common_name: 'a.test', key_type: 'ec' },
      'pki-issuers-generate-intermediate': { common_name: 'a.test', key_type: 'ec' },
      'pki-cross-sign-intermediate': { common_name: 'a.test' },
      'pki-root-sign-intermediate': { common_name: 'a.test', csr: CSR },
      'pki-issuer-sign-intermediate': { common_name: 'a.test', csr: CSR },
      'pki-root-sign-self-issued': { certificate: authority },
      'pki-issuer-sign-self-issued': { certificate: authority },
      'pki-generate-key': { key_type: 'ec' },
      'pki-write-role': { key_type: 'ec' },
      'pki-revoke-with-key': pair,
      'pki-resign-crls': { crl_number: 1, crls: [crl] },
      'pki-sign-revocation-list': { crl_number: 1 },
      'pki-search-certs': {},
      'managed-keys-write': DEVICE_KEY,
      'mounts-write': { type: 'pki' },
      'auth-write': { type: 'userpass' },
      'auditing-enable-device': { type: 'file', options: { file_path: log } },
      'auditing-calculate-hash': { input: 'a' },
      'policies-write-acl-policy': { policy: 'path "a" { capabilities = ["read"] }' },
      'policy-write-acl-policy': { policy: 'path "a" { capabilities = ["read"] }' },
      'query-token-self-capabilities': { paths: ['a'] },
      'query-token-capabilities': { paths: ['a'], token: little },
      'query-token-accessor-capabilities': { paths: ['a'], accessor: 'none' },
      'userpass-write-user': { password: 'long enough' },
      'userpass-reset-password': { password: 'long enough' },
      'userpass-update-policies': { token_policies: 'default' },
      'userpass-login': { password: 'wrong' },
      'app-role-login': { role_id, secret_id: secret.textAt('data.secret_id') },
      'app-role-write-custom-secret-id': { secret_id: 'custom' },
      'entity-create': { name: 'tried' },
      'entity-create-alias': { name: 'a', mount_accessor, canonical_id: entity.textAt('data.id') },
      'group-create': { name: 'tried' },
      'authenticate-auth-method': { attributes: { login_name: 'a', password: 'wrong one' } },
      'set-password-account': { version: 1, password: 'long enough' },
      'change-password-account': {
        version: 1,
        current_password: 'wrong one',
        new_password: 'long enough',
      },
      'create-scope': { scope_id: broker.org, name: 'tried' },
      'create-auth-method': { scope_id: 'global', type: 'password' },
      'create-account': { auth_method_id: auth_method },
      'create-user': { scope_id: 'global', name: 'tried' },
      'create-group': { scope_id: 'global', name: 'tried' },
      'create-managed-group': { auth_method_id: auth_method },
      'create-role': { scope_id: 'global', name: 'tried' },
      'create-host-catalog': { scope_id: project, type: 'static', name: 'tried' },
      'create-host-set': { host_catalog_id: 'hcst_1234567890', type: 'static', name: 'tried' },
      'create-host': { host_catalog_id: 'hcst_1234567890', type: 'static', name: 'tried' },
      'create-credential-store': { scope_id: project, type: 'static', name: 'tried' },
      'create-credential-library': { ...library, name: 'tried' },
      'create-credential': {
        credential_store_id,
        type: 'username_password',
        attributes: password,
        name: 'tried',
      },
      'create-target': {
        scope_id: project,
        type: 'tcp',
        name: 'tried',
        attributes: { default_port: 22 },
      },
      'create-alias': { scope_id: 'global', type: 'target', value: 'tried.test' },
      'cubbyhole-write': { a: 'b' },
      'create-worker-controller-led': { scope_id: 'global', name: 'tried' },
      'create-worker-worker-led': { scope_id: 'global', worker_generated_auth_token: 'a' },
    },
    subtypes: {
      'create-account': { password: { attributes: { login_name: 'tried', password: 'password' } } },
      'create-host': { static: { attributes: { address: 'a.test' } } },
      'create-credential-store': {
        vault: {
          type: 'vault',
          attributes: { address: 'http://127.0.0.1:1', token: 'a' },
        },
        authority: { type: 'authority', attributes: { mount: 'pki' } },
      },
      'create-credential-library': {
        'vault-generic': { ...inVault, type: 'vault-generic', attributes: libraryPaths },
        'vault-ssh-certificate': {
          ...inVault,
          type: 'vault-ssh-certificate',
          attributes: { path: 'ssh/sign/a', username: 'u' },
        },
        'vault-ldap': { ...inVault, type: 'vault-ldap', attributes: { path: 'ldap/creds/a' } },
        'authority-certificate': library,
      },
      'create-credential': {
        username_password: { type: 'username_password', attributes: password },
        username_password_domain: {
          type: 'username_password_domain',
          attributes: { ...password, domain: 'd' },
        },
        password: { type: 'password', attributes: { password: 'p' } },
        ssh_private_key: {
          type: 'ssh_private_key',
          attributes: { username: 'u', private_key: 'k' },
        },
        json: { type: 'json', attributes: { object: { a: 1 } } },
      },
    },
    askers: [
      { name: 'nobody', vault: {}, broker: {} },
      {
        name: 'everything',
        vault: { 'x-vault-token': 'root' },
        broker: { authorization: `Bearer ${broker.admin_token}` },
      },
      {
        name: 'little',
        vault: { 'x-vault-token': little },
        broker: { authorization: `Bearer ${person.token}` },
      },
    ],
  };
}

/** For a.test, by a P-256 key that nobody has any more. */
const CSR = `-----BEGIN CERTIFICATE REQUEST-----
MIHLMHMCAQAwETEPMA0GA1UEAwwGYS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEtufhTIivuxNudmuZz+xkgK5FHceJY361RBJuLr8Mz776S0atGfmC5fAd
VeSMpzzNCNSd4BADx1rlhAS1WgaytqAAMAoGCCqGSM49BAMCA0gAMEUCIEI1S7J4
M3y94uxcTbJJL/dI0kCEYd3BvyaRiSbkIH7AAiEAk/HHB5UPrZ84LlA8QtWL2E2X
KWHk1McLRaTZE6vkSwo=
-----END CERTIFICATE REQUEST-----`;
