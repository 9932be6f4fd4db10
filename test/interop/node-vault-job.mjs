/**
 * The main job of a certificate authority, done with node-vault. Arguments: where node-vault is
 * installed, the server's address, a root token. Exits 0 when everything held.
 */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

const [, , installed = '', endpoint = '', token = ''] = process.argv;
const connect = createRequire(import.meta.url)(installed);
const vault = connect({ endpoint, token });

const refused = (call, statusCode, says) =>
  assert.rejects(call, (error) => {
    assert.equal(error.response?.statusCode, statusCode, String(error));
    assert.match(String(error.message), says);
    return true;
  });

// The system.
assert.equal((await vault.initialized()).initialized, true);
assert.equal((await vault.status()).sealed, false);
assert.equal((await vault.health()).initialized, true);

// A mount, a root, a role.
await vault.mount({ mount_point: 'js', type: 'pki', config: { max_lease_ttl: '87600h' } });
assert.ok((await vault.mounts()).data['js/']);
const root = await vault.write('js/root/generate/internal', {
  common_name: 'Root',
  key_type: 'ec',
  ttl: '8760h',
});
await vault.write('js/roles/web', {
  allowed_domains: 'example.com',
  allow_subdomains: true,
  key_type: 'ec',
  max_ttl: '72h',
});
assert.deepEqual((await vault.list('js/roles')).data.keys, ['web']);
assert.equal((await vault.read('js/roles/web')).data.max_ttl, 259_200);
await refused(vault.read('js/roles/none'), 404, /404/);
assert.equal((await vault.update('js/roles/web', { max_ttl: '48h' })).data.max_ttl, 172_800);

// Certificates and their revocation.
const issued = await vault.write('js/issue/web', { common_name: 'www.example.com' });
assert.deepEqual(issued.data.ca_chain, [root.data.certificate]);
await refused(
  vault.write('js/issue/web', { common_name: 'www.example.org' }),
  400,
  /not allowed by this role/,
);
const csr = await text(process.stdin);
const signed = await vault.write('js/sign/web', { csr });
const serials = (await vault.list('js/certs')).data.keys;
assert.ok(
  serials.includes(issued.data.serial_number) && serials.includes(signed.data.serial_number),
);
assert.equal((await vault.read(`js/cert/${issued.data.serial_number}`)).data.revocation_time, 0);
await vault.write('js/revoke', { serial_number: issued.data.serial_number });
assert.ok((await vault.read(`js/cert/${issued.data.serial_number}`)).data.revocation_time > 0);
assert.match((await vault.read('js/cert/crl')).data.certificate, /BEGIN X509 CRL/);
assert.deepEqual((await vault.list('js/certs/revoked')).data.keys, [issued.data.serial_number]);

// Policies, tokens, log-in.
await vault.addPolicy({ name: 'js', rules: 'path "js/issue/web" { capabilities = ["update"] }' });
assert.ok((await vault.policies()).policies.includes('js'));
assert.match((await vault.getPolicy({ name: 'js' })).rules, /js\/issue\/web/);
const made = await vault.tokenCreate({ policies: ['js'], ttl: '1h' });
// The client takes over the token that it made; its owner goes on with the own one.
vault.token = token;
const limited = connect({ endpoint, token: made.auth.client_token });
assert.deepEqual((await limited.tokenLookupSelf()).data.policies, ['default', 'js']);
assert.ok((await limited.write('js/issue/web', { common_name: 'b.example.com' })).data.certificate);
await refused(limited.list('js/roles'), 403, /permission denied/);
assert.equal(
  (await limited.tokenRenewSelf({ increment: '2h' })).auth.client_token,
  made.auth.client_token,
);
await limited.tokenRevokeSelf();
await refused(limited.tokenLookupSelf(), 403, /permission denied/);
await vault.enableAuth({ mount_point: 'userpass', type: 'userpass' });
await vault.write('auth/userpass/users/bob', { password: 'correct horse', token_policies: ['js'] });
const bob = connect({ endpoint });
const login = await bob.userpassLogin({ username: 'bob', password: 'correct horse' });
assert.equal(login.auth.metadata.username, 'bob');
await refused(
  bob.userpassLogin({ username: 'bob', password: 'wrong' }),
  400,
  /invalid username or password/,
);
await vault.enableAuth({ mount_point: 'approle', type: 'approle' });
await vault.addApproleRole({ role_name: 'machine', policies: 'js' });
const { role_id } = (await vault.getApproleRoleId({ role_name: 'machine' })).data;
const { secret_id } = (await vault.getApproleRoleSecret({ role_name: 'machine' })).data;
const machine = connect({ endpoint });
await machine.approleLogin({ role_id, secret_id });
assert.ok(
  (await machine.write('js/issue/web', { common_name: 'm.example.com' })).data.serial_number,
);

// Taking it down.
await vault.delete('js/roles/web');
await refused(vault.read('js/roles/web'), 404, /404/);
await vault.remount({ from: 'js', to: 'moved' });
assert.ok((await vault.mounts()).data['moved/']);
await vault.unmount({ mount_point: 'moved' });
await vault.removePolicy({ name: 'js' });
await vault.disableAuth({ mount_point: 'userpass' });
process.stdout.write('node-vault did the main job\n');
