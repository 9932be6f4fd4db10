import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { insertRevocation } from '../../src/pki/mount-state/revocations.store.ts';
import { listManagedKeys, saveManagedKey } from '../../src/system/managed-keys/store.ts';
import { publicKeyInfo } from '../../src/x509/keys.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { eachPlace } from '../support/engines.ts';
import { FAKE_PIN, makeFakeToken } from '../support/fake-token.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

const device = makeFakeToken({ after });
const server = await startTestServer({ after }, { config: { kms_library: [device.library] } });
const { call } = server;

const EC = {
  library: 'fake',
  token_label: 'a',
  pin: FAKE_PIN,
  mechanism: '0x1041',
  curve: 'P256',
  allow_generate_key: true,
};

async function makeKey(name: string, more: object = {}): Promise<string> {
  const written = await call('POST', `sys/managed-keys/pkcs11/${name}`, {
    ...EC,
    key_label: name,
    ...more,
  });
  assert.equal(written.status, 204, written.text);
  return (await call('GET', `sys/managed-keys/pkcs11/${name}`)).textAt('data.uuid');
}

async function mountAt(path: string, allowed_managed_keys: string[]): Promise<void> {
  const config = { allowed_managed_keys };
  const made = await call('POST', `sys/mounts/${path}`, { type: 'pki', config });
  assert.equal(made.status, 204, made.text);
}

test('a managed key is written, read without its PIN, listed and forgotten', async () => {
  assert.equal((await call('LIST', 'sys/managed-keys/pkcs11')).status, 404);
  await makeKey('One', { slot: '0x10', key_bits: '', force_rw_session: '', usages: 'sign,verify' });
  const read = await call('GET', 'sys/managed-keys/pkcs11/one');
  const { uuid: _, ...told } = read.field('data') as Record<string, unknown>;
  assert.deepEqual(told, {
    ...{ name: 'one', type: 'pkcs11', library: 'fake', slot: '16', token_label: 'a' },
    ...{ key_label: 'One', key_id: '', mechanism: '0x1041', key_bits: 0, curve: 'P256' },
    ...{ force_rw_session: false, max_parallel: 1, usages: ['sign', 'verify'] },
    ...{ allow_generate_key: true, allow_store_key: false, allow_replace_key: false },
    any_mount: false,
  });
  assert.ok(!read.text.includes(FAKE_PIN));
  assert.deepEqual((await call('LIST', 'sys/managed-keys/pkcs11')).field('data.keys'), ['one']);
  const uuid = read.field('data.uuid');
  assert.equal(await makeKey('one'), uuid, 'written again it keeps its id');
  for (const _time of [1, 2]) {
    assert.equal((await call('DELETE', 'sys/managed-keys/pkcs11/one')).status, 204);
  }
  assert.equal((await call('GET', 'sys/managed-keys/pkcs11/one')).status, 404);
});

const refused: [change: object, phrase: RegExp][] = [
  [{ library: '/usr/lib/evil.so' }, /no kms_library of that name/],
  [{ token_label: '' }, /slot or token_label/],
  [{ slot: 'one' }, /slot must be a number/],
  [{ key_label: '' }, /key_label or key_id/],
  [{ mechanism: '0x250' }, /mechanism may be/],
  [{ mechanism: '1', key_bits: '1024' }, /key_bits must be 2048/],
  [{ curve: 'P225' }, /curve must be/],
  [{ usages: 'sing' }, /usages may be/],
  [{ pin: '' }, /pin must be given/],
  [{ force_rw_session: 'maybe' }, /force_rw_session/],
  [{ max_parallel: -1 }, /max_parallel/],
  ...['0x', '0xabc', '0Xzz', '0x0a 0b'].map((key_id): [object, RegExp] => [
    { key_id },
    /key_id must have pairs of hexadecimal digits after 0x/,
  ]),
];
for (const [change, phrase] of refused) {
  test(`a managed key is refused with ${JSON.stringify(change)}`, async () => {
    const body = { ...EC, key_label: 'x', ...change };
    const answer = await call('POST', 'sys/managed-keys/pkcs11/refused', body);
    assert.equal(answer.status, 400);
    assert.match(answer.text, phrase);
    assert.ok(!answer.text.includes(FAKE_PIN));
  });
}

for (const key_id of ['0x0a0B', '0X0a', 'x0abc', '0', 'a0xb']) {
  test(`a managed key has the id ${key_id}`, async () => {
    await makeKey('identified', { key_id });
    const read = await call('GET', 'sys/managed-keys/pkcs11/identified');
    assert.equal(read.textAt('data.key_id'), key_id);
    await call('DELETE', 'sys/managed-keys/pkcs11/identified');
  });
}

test('other kinds of devices are refused', async () => {
  const answer = await call('POST', 'sys/managed-keys/awskms/x', { ...EC, key_label: 'x' });
  assert.equal(answer.status, 400);
});

test('a managed key is tested by a signature, and one that may not be made is refused', async () => {
  await makeKey('tested');
  assert.equal((await call('POST', 'sys/managed-keys/pkcs11/tested/test/sign')).status, 204);
  await makeKey('missing', { allow_generate_key: false });
  const missing = await call('POST', 'sys/managed-keys/pkcs11/missing/test/sign');
  assert.equal(missing.status, 400);
  assert.match(missing.text, /allow_generate_key is false/);
  const pss = { use_pss: true };
  assert.equal((await call('POST', 'sys/managed-keys/pkcs11/tested/test/sign', pss)).status, 400);
});

for (const hash_algorithm of ['md5', 'SHA2-256', '', 'constructor', '__proto__', 'toString']) {
  test(`a managed key is not tested with the hash "${hash_algorithm}"`, async () => {
    await makeKey('hashed');
    const answer = await call('POST', 'sys/managed-keys/pkcs11/hashed/test/sign', {
      hash_algorithm,
    });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /hash_algorithm may be sha2-256, sha2-384, sha2-512/);
  });
}

test('a test that is refused makes no key', async () => {
  await makeKey('unmade', { mechanism: '0x1', curve: '', key_bits: '2048' });
  const sign = (body: object) => call('POST', 'sys/managed-keys/pkcs11/unmade/test/sign', body);
  const refusal = await sign({ use_pss: true });
  assert.match(refusal.text, /use_pss: the mechanism of the key is another one/);
  await makeKey('unmade', { mechanism: '0x1', curve: '', allow_generate_key: false });
  assert.match((await sign({})).text, /the token has no key/);
});

test('many first uses of a managed key at once make one key', async () => {
  await makeKey('wanted');
  await makeKey('wanted-too', { key_label: 'wanted' });
  const all = await Promise.all(
    Array.from({ length: 4 }).flatMap(() =>
      ['wanted', 'wanted-too'].map((name) =>
        call('POST', `sys/managed-keys/pkcs11/${name}/test/sign`),
      ),
    ),
  );
  for (const { status, text } of all) assert.equal(status, 204, text);
});

test('a token that does not do the mechanism of a key is named when the key is taken', async () => {
  await mountAt('unable', ['unable']);
  for (const [mechanism, name] of [
    ['0xd', 'CKM_RSA_PKCS_PSS'],
    ['0x43', 'CKM_SHA256_RSA_PKCS_PSS'],
  ]) {
    await makeKey('unable', { mechanism, curve: '', key_bits: '2048' });
    const body = { common_name: 'r', managed_key_name: 'unable' };
    for (const answer of [
      await call('POST', 'unable/root/generate/kms', body),
      await call('POST', 'sys/managed-keys/pkcs11/unable/test/sign'),
    ]) {
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.includes(`did not sign by ${name} with this key`), answer.text);
    }
  }
});

test('a root, its leaves, CRL and OCSP are signed by the key of the device', async () => {
  const uuid = await makeKey('root');
  await mountAt('kms', ['root']);
  const root = await call('POST', 'kms/root/generate/kms', {
    common_name: 'Root in a device',
    managed_key_name: 'ROOT',
    key_name: 'hsm',
  });
  assert.equal(root.status, 200, root.text);
  assert.equal(root.field('data.private_key'), undefined);
  const key = await call('GET', 'kms/key/hsm');
  assert.equal(key.textAt('data.managed_key_id'), uuid);
  assert.equal(key.textAt('data.managed_key_name'), 'root');
  assert.equal(key.textAt('data.key_type'), 'ec');
  await call('POST', 'kms/roles/any', { allow_any_name: true, key_type: 'ed25519' });
  const leaf = await call('POST', 'kms/issue/any', { common_name: 'a.test', ttl: '1h' });
  assert.equal(leaf.status, 200, leaf.text);
  const authority = new X509Certificate(root.textAt('data.certificate'));
  assert.ok(new X509Certificate(leaf.textAt('data.certificate')).verify(authority.publicKey));
  const serial_number = leaf.textAt('data.serial_number');
  assert.equal((await call('POST', 'kms/revoke', { serial_number })).status, 200);
  assert.equal((await call('GET', 'kms/crl/rotate')).status, 200);
  assert.match((await call('GET', 'kms/crl/pem')).text, /BEGIN X509 CRL/);
  const again = await call('POST', 'kms/keys/generate/kms', { managed_key_id: uuid });
  assert.equal(again.textAt('data.key_id'), root.textAt('data.key_id'), 'one key, one entry');
  const inUse = await call('DELETE', 'sys/managed-keys/pkcs11/root');
  assert.equal(inUse.status, 400);
  assert.match(inUse.text, /in use by keys of mounts/);
});

test('a long list, which is laid out on a thread, is signed by the key of the device, too', async () => {
  const { store } = server.running.app;
  const mount_id = (await call('GET', 'sys/mounts/kms')).textAt('data.uuid');
  const issuer_id = (await call('GET', 'kms/issuer/default')).textAt('data.issuer_id');
  const sets = Array.from({ length: 1_100 }, (_, at) => {
    const serial = formatSerial(Uint8Array.of(1, at >> 8, at & 0xff));
    return insertRevocation(mount_id, { serial, issuer_id, revoked_at_ms: 1e12, reason: 0 });
  });
  await Promise.all(sets.map((set) => store.commit(set)));
  assert.equal((await call('GET', 'kms/crl/rotate')).status, 200);
  const crl = parseCrl((await call('GET', 'kms/crl')).bytes);
  const authority = new X509Certificate((await call('GET', 'kms/ca/pem')).text);
  assert.ok(isCrlSignedBy(crl, publicKeyInfo(authority.publicKey)));
  assert.ok([...crl.entries()].length > 1_100);
});

test('a device that is gone is 503, and when it is back all goes on', async () => {
  device.pull();
  const gone = await call('POST', 'kms/issue/any', { common_name: 'b.test', ttl: '1h' });
  assert.equal(gone.status, 503, gone.text);
  assert.ok(!gone.text.includes(FAKE_PIN));
  device.putBack();
  for (let tries = 0; ; tries += 1) {
    const back = await call('POST', 'kms/issue/any', { common_name: 'b.test', ttl: '1h' });
    if (back.status === 200) break;
    assert.ok(back.status === 503 && tries < 50, back.text);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

const requests: [body: object, phrase: RegExp][] = [
  [{}, /exactly one of managed_key_name and managed_key_id/],
  [{ managed_key_name: 'root', managed_key_id: 'x' }, /exactly one/],
  [{ managed_key_name: 'root', key_type: 'rsa' }, /key_type nor key_bits/],
  [{ managed_key_name: 'root', key_bits: 2048 }, /key_type nor key_bits/],
  [{ managed_key_name: 'nobody' }, /no managed key of that name/],
  [{ managed_key_id: '6f1c0b2e-0000-4000-8000-0123456789ab' }, /no managed key of that name or id/],
];
for (const [body, phrase] of requests) {
  test(`of type kms is refused: ${JSON.stringify(body)}`, async () => {
    for (const path of ['kms/keys/generate/kms', 'kms/root/generate/kms']) {
      const answer = await call('POST', path, { common_name: 'x', ...body });
      assert.equal(answer.status, 400, path);
      assert.match(answer.text, phrase);
    }
  });
}

test('a mount uses the managed keys that it names, or that any mount may use, and only as long as that holds', async () => {
  await makeKey('named');
  await mountAt('other', []);
  const ask = () => call('POST', 'other/keys/generate/kms', { managed_key_name: 'named' });
  const refusal = await ask();
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /allowed_managed_keys/);
  await call('POST', 'sys/mounts/other/tune', { allowed_managed_keys: ['named'] });
  assert.equal((await ask()).status, 200);
  const root = { common_name: 'r', key_ref: 'default' };
  assert.equal((await call('POST', 'other/root/generate/existing', root)).status, 200);
  await call('POST', 'sys/mounts/other/tune', { allowed_managed_keys: [] });
  const late = await call('POST', 'other/root/generate/existing', root);
  assert.equal(late.status, 503);
  assert.match(late.text, /allowed_managed_keys do not name it/);
  await makeKey('named', { any_mount: true });
  assert.equal((await call('POST', 'other/root/generate/existing', root)).status, 200);
  await makeKey('named', { any_mount: true, usages: 'verify' });
  const unusable = await call('POST', 'other/root/generate/existing', root);
  assert.equal(unusable.status, 503);
  assert.match(unusable.text, /may not sign/);
});

test('a key that is put into another’s place signs nothing', async () => {
  await makeKey('swapped', { any_mount: true });
  await mountAt('swap', []);
  const body = { common_name: 'r', managed_key_name: 'swapped' };
  assert.equal((await call('POST', 'swap/root/generate/kms', body)).status, 200);
  await makeKey('swapped', { any_mount: true, key_label: 'tested' });
  const answer = await call('POST', 'swap/root/generate/existing', { common_name: 'r' });
  assert.equal(answer.status, 503, answer.text);
  assert.match(answer.text, /did not sign with the key/);
});

test('further keys of its label keep an authority that has taken one from nothing, and are not taken', async () => {
  await makeKey('doubled', { any_mount: true });
  await mountAt('double', []);
  const body = { common_name: 'r', managed_key_name: 'doubled' };
  assert.equal((await call('POST', 'double/root/generate/kms', body)).status, 200);
  device.double('doubled', 2);
  const again = () => call('POST', 'double/root/generate/existing', { common_name: 'r' });
  const answer = await again();
  assert.equal(answer.status, 200, answer.text);
  const taking = await call('POST', 'double/root/generate/kms', body);
  assert.equal(taking.status, 503, taking.text);
  await makeKey('doubled', { any_mount: true, key_label: 'tested' });
  device.double('tested', 2);
  const other = await again();
  assert.equal(other.status, 503, other.text);
  assert.match(other.text, /did not sign with the key/);
  device.double('tested', 0);
});

test('a denial at a managed key’s own path denies taking it', async () => {
  await makeKey('denied', { any_mount: true });
  const policy = `path "swap/*" { capabilities = ["create", "update"] }
    path "sys/managed-keys/pkcs11/denied" { capabilities = ["deny"] }`;
  await call('POST', 'sys/policies/acl/taker', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['taker'] });
  const token = made.textAt('auth.client_token');
  const take = (managed_key_name: string) =>
    call('POST', 'swap/keys/generate/kms', { managed_key_name }, { token });
  assert.equal((await take('DENIED')).status, 403);
  await makeKey('undenied', { any_mount: true });
  assert.equal((await take('undenied')).status, 200);
});

test('a wrong PIN is 503, is not tried again, and works once it is written right', async () => {
  await makeKey('pinned', { pin: 'no' });
  const sign = () => call('POST', 'sys/managed-keys/pkcs11/pinned/test/sign');
  assert.equal((await sign()).status, 503);
  assert.match((await sign()).text, /not tried again/);
  await makeKey('pinned');
  assert.equal((await sign()).status, 204);
});

eachPlace('managed keys', (newPlace) => {
  test('are a thousand at most, also of those that are written at once, and each may be written again', async (t) => {
    const config = { kms_library: [device.library], storage: storageOf(await newPlace()) };
    const { call, running } = await startTestServer(t, { config, jobs: [] });
    const write = (name: string) =>
      call('POST', `sys/managed-keys/pkcs11/${name}`, { ...EC, key_label: name });
    assert.equal((await write('first')).status, 204);
    const { store } = running.app;
    const [first] = (await listManagedKeys(store.db)).values();
    assert.ok(first);
    const others = Array.from({ length: 996 }, (_, at) =>
      saveManagedKey({ ...first, uuid: `k-${at}`, name: `k${at}` }, first.pin_sealed, undefined),
    );
    await store.commit(others);
    const written = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(write));
    const refused = written.filter(({ status }) => status !== 204);
    assert.equal(refused.length, 5);
    for (const { status, text } of refused) {
      assert.equal(status, 400);
      assert.match(text, /there are 1000 managed keys, and no more can be/);
    }
    assert.equal((await listManagedKeys(store.db)).size, 1000);
    for (const { status } of await Promise.all([write('first'), write('first')])) {
      assert.equal(status, 204);
    }
  });
});
