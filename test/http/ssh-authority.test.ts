import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { after, test } from 'node:test';
import { readSshKey } from '../../src/broker/credentials/static/ssh-key.ts';
import { encodePem } from '../../src/core/pem.ts';
import { parseCertificateLine } from '../../src/ssh/certificate.ts';
import { encodePrivateKeyFile } from '../../src/ssh/private-key-file.ts';
import { encodeSshPublicKey, parsePublicKeyLine } from '../../src/ssh/public-key.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const line = encodeSshPublicKey(generateKeyPairSync('ed25519').publicKey);

let mounts = 0;
async function newMount(key_type = 'ssh-ed25519'): Promise<{ path: string; public_key: string }> {
  const path = `ssh${++mounts}`;
  assert.equal((await call('POST', `sys/mounts/${path}`, { type: 'ssh' })).status, 204);
  const made = await call('POST', `${path}/config/ca`, { key_type });
  assert.equal(made.status, 200, made.text);
  return { path, public_key: made.textAt('data.public_key') };
}

const ROLE = {
  key_type: 'ca',
  allow_user_certificates: true,
  allowed_users: 'ann,bob',
  default_user: 'ann',
  default_extensions: { 'permit-pty': '' },
  ttl: '10m',
};

for (const key_type of ['ssh-ed25519', 'ecdsa-sha2-nistp384', 'ssh-rsa']) {
  test(`an authority with a key of type ${key_type} signs, and its certificate says what the role has`, async () => {
    const { path, public_key } = await newMount(key_type);
    assert.ok(parsePublicKeyLine(public_key)?.type === key_type);
    assert.equal((await call('POST', `${path}/roles/ops`, ROLE)).status, 204);
    const signed = await call('POST', `${path}/sign/ops`, { public_key: `${line} me@here\n` });
    assert.equal(signed.status, 200, signed.text);
    const certificate = parseCertificateLine(signed.textAt('data.signed_key').trim());
    assert.ok(certificate);
    assert.deepEqual(certificate.principals, ['ann']);
    assert.deepEqual(certificate.extensions, { 'permit-pty': '' });
    assert.equal(
      certificate.serial.toString(16).padStart(16, '0'),
      signed.textAt('data.serial_number'),
    );
    assert.equal(certificate.valid_before - certificate.valid_after, 630n);
    assert.equal(encodeSshPublicKey(certificate.signed_by.key), public_key);
  });
}

for (const [key_type, key_bits] of [
  ['ed25519', 0],
  ['ec', 521],
  ['rsa', 2048],
] as const) {
  test(`a key of kind ${key_type} is made, and signed`, async () => {
    const { path } = await newMount();
    await call('POST', `${path}/roles/ops`, ROLE);
    const issued = await call('POST', `${path}/issue/ops`, {
      key_type,
      key_bits,
      valid_principals: 'bob',
    });
    assert.equal(issued.status, 200, issued.text);
    const read = readSshKey(issued.textAt('data.private_key'), '');
    const certificate = parseCertificateLine(issued.textAt('data.signed_key').trim());
    assert.ok(read.kind === 'open' && read.key && certificate);
    assert.equal(issued.textAt('data.private_key_type'), key_type);
    const pub = generatePublic(read.key);
    assert.equal(pub, encodeSshPublicKey(certificate.key));
    assert.deepEqual(certificate.principals, ['bob']);
  });
}

function generatePublic(key: KeyObject): string {
  return encodeSshPublicKey(createPublicKey(key));
}

test('the public key is there without a token, and the private one nowhere', async () => {
  const { path, public_key } = await newMount();
  const read = await call('GET', `${path}/public_key`, undefined, { token: '' });
  assert.equal(read.text, `${public_key}\n`);
  assert.equal((await call('GET', `${path}/config/ca`)).textAt('data.public_key'), public_key);
  assert.doesNotMatch((await call('GET', `${path}/config/ca`)).text, /PRIVATE|private/);
});

test('a mount has one authority until that is deleted, and none signs no more', async () => {
  const { path, public_key } = await newMount();
  await call('POST', `${path}/roles/ops`, ROLE);
  assert.equal((await call('POST', `${path}/config/ca`, { key_type: 'ssh-ed25519' })).status, 400);
  assert.equal((await call('DELETE', `${path}/config/ca`)).status, 204);
  assert.equal((await call('POST', `${path}/sign/ops`, { public_key: line })).status, 400);
  assert.equal((await call('GET', `${path}/public_key`)).status, 404);
  const anew = await call('POST', `${path}/config/ca`, { key_type: 'ssh-ed25519' });
  assert.notEqual(anew.textAt('data.public_key'), public_key);
});

test('a key that is brought is the authority', async () => {
  const path = `ssh${++mounts}`;
  await call('POST', `sys/mounts/${path}`, { type: 'ssh' });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const made = await call('POST', `${path}/config/ca`, { private_key });
  assert.equal(made.textAt('data.public_key'), encodeSshPublicKey(publicKey));
  const other = `ssh${++mounts}`;
  await call('POST', `sys/mounts/${other}`, { type: 'ssh' });
  assert.equal((await call('POST', `${other}/config/ca`, { private_key: 'no key' })).status, 400);
  assert.equal(
    (await call('POST', `${other}/config/ca`, { generate_signing_key: false })).status,
    400,
  );
});

for (const [kind, { privateKey, publicKey }] of [
  ['Ed25519', generateKeyPairSync('ed25519')],
  ['ECDSA', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
] as const) {
  test(`a key of ${kind} in the form of OpenSSH is the authority`, async () => {
    const path = `ssh${++mounts}`;
    await call('POST', `sys/mounts/${path}`, { type: 'ssh' });
    const private_key = encodePrivateKeyFile(privateKey, 'me@here');
    const made = await call('POST', `${path}/config/ca`, { private_key });
    assert.equal(made.status, 200, made.text);
    assert.equal(made.textAt('data.public_key'), encodeSshPublicKey(publicKey));
    await call('POST', `${path}/roles/ops`, ROLE);
    const signed = await call('POST', `${path}/sign/ops`, { public_key: line });
    assert.ok(parseCertificateLine(signed.textAt('data.signed_key').trim()));
  });
}

const whole = encodePrivateKeyFile(generateKeyPairSync('ed25519').privateKey);
const file = Buffer.from(whole.split('\n').slice(1, -2).join(''), 'base64');
const asFile = (bytes: Buffer): string => encodePem('OPENSSH PRIVATE KEY', bytes);
const locked = Buffer.from(file);
locked.write('lock', 'openssh-key-v1\0'.length + 4);
for (const [private_key, why] of [
  [asFile(file.subarray(0, -20)), 'a piece'],
  [asFile(locked), 'one with a passphrase'],
  [`${whole}\n${whole}`, 'two'],
  [
    encodePrivateKeyFile(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey),
    'RSA of 1024 bits',
  ],
] as const) {
  test(`a key in the form of OpenSSH is refused: ${why}`, async () => {
    const path = `ssh${++mounts}`;
    await call('POST', `sys/mounts/${path}`, { type: 'ssh' });
    const refused = await call('POST', `${path}/config/ca`, { private_key });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /private_key/);
  });
}

for (const [key_type, algorithm_signer, algorithm] of [
  ['ssh-rsa', 'default', 'rsa-sha2-512'],
  ['ssh-rsa', 'rsa-sha2-512', 'rsa-sha2-512'],
  ['ssh-rsa', 'rsa-sha2-256', 'rsa-sha2-256'],
  ['ssh-ed25519', 'rsa-sha2-256', 'ssh-ed25519'],
] as const) {
  test(`a role with ${algorithm_signer} has an authority of ${key_type} sign by ${algorithm}`, async () => {
    const { path } = await newMount(key_type);
    await call('POST', `${path}/roles/ops`, { ...ROLE, algorithm_signer });
    const signed = await call('POST', `${path}/sign/ops`, { public_key: line });
    assert.equal(signed.status, 200, signed.text);
    const { blob } = parseCertificateLine(signed.textAt('data.signed_key').trim()) ?? {};
    assert.ok(blob);
    const names = ['rsa-sha2-256', 'rsa-sha2-512', 'ssh-ed25519'];
    const last = names.map((name) => [blob.lastIndexOf(name), name] as const);
    assert.equal(last.toSorted(([a], [b]) => b - a)[0]?.[1], algorithm);
  });
}

for (const [field, value] of [
  ['algorithm_signer', 'ssh-rsa'],
  ['allowed_user_key_lengths', { rsa: 4096 }],
  ['allowed_user_key_lengths', { rsa: [2048, 4096] }],
] as const) {
  test(`a role is not written without what it should hold to: ${field} ${JSON.stringify(value)}`, async () => {
    const { path } = await newMount();
    const refused = await call('POST', `${path}/roles/ops`, { ...ROLE, [field]: value });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, new RegExp(field));
    assert.equal((await call('GET', `${path}/roles/ops`)).status, 404);
  });
}

test('a role may say that no lengths of keys are asked for', async () => {
  const { path } = await newMount();
  const role = { ...ROLE, allowed_user_key_lengths: {} };
  assert.equal((await call('POST', `${path}/roles/ops`, role)).status, 204);
});

test('a template of principals is a name like every other', async () => {
  const { path } = await newMount();
  const template = '{{identity.entity.name}}';
  await call('POST', `${path}/roles/ops`, {
    ...ROLE,
    allowed_users: template,
    allowed_users_template: true,
  });
  const sign = (valid_principals: string) =>
    call('POST', `${path}/sign/ops`, { public_key: line, valid_principals });
  assert.equal((await sign('bob')).status, 400);
  assert.equal((await sign(template)).status, 200);
});

test('roles are written whole, read, listed and deleted', async () => {
  const { path } = await newMount();
  assert.equal((await call('GET', `${path}/roles/ops`)).status, 404);
  await call('POST', `${path}/roles/ops`, ROLE);
  await call('POST', `${path}/roles/dev`, { key_type: 'ca' });
  const read = await call('GET', `${path}/roles/ops`);
  assert.deepEqual(read.field('data.allowed_users'), ['ann', 'bob']);
  assert.equal(read.field('data.ttl'), 600);
  assert.deepEqual((await call('LIST', `${path}/roles`)).field('data.keys'), ['dev', 'ops']);
  await call('POST', `${path}/roles/ops`, { key_type: 'ca' });
  assert.deepEqual((await call('GET', `${path}/roles/ops`)).field('data.allowed_users'), []);
  assert.equal((await call('DELETE', `${path}/roles/ops`)).status, 204);
  assert.equal((await call('POST', `${path}/sign/ops`, { public_key: line })).status, 400);
  assert.equal((await call('POST', `${path}/roles/x`, { key_type: 'otp' })).status, 400);
  assert.equal(
    (await call('POST', `${path}/roles/x`, { key_type: 'ca', ttl: 9, max_ttl: 8 })).status,
    400,
  );
});

for (const [public_key, why] of [
  ['ssh-ed25519 AAAA', 'a piece of a key'],
  [`${line}\n${line}`, 'two keys'],
  ['-----BEGIN PUBLIC KEY-----', 'another form'],
] as const) {
  test(`what is no public key of SSH is not signed: ${why}`, async () => {
    const { path } = await newMount();
    await call('POST', `${path}/roles/ops`, ROLE);
    const refused = await call('POST', `${path}/sign/ops`, { public_key });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /failed to parse public_key/);
  });
}
