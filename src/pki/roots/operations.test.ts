import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { Failure } from '../../core/failure.ts';
import { openStore, type Store } from '../../store/store.ts';
import { isSelfSigned, parseCertificate } from '../../x509/certificate.ts';
import { findDefaultIssuer } from '../certificates/operations.ts';
import { findCertificate, listSerials } from '../certificates/store.ts';
import { writeIssuersConfig } from '../config/operations.ts';
import { removeIssuer, removeRoot, updateIssuer, writeIssuer } from '../issuers/operations.ts';
import { issuerFields } from '../issuers/settings.ts';
import { generateStoredKey, removeKey, updateKey } from '../keys/operations.ts';
import { readMountState, requireIssuer } from '../mount-state/operations.ts';
import { rootFields } from '../profile/root.ts';
import { generateRoot, newSerialNumber } from './operations.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
const rootInput = z.object({ exported: z.string(), ...rootFields });
const issuerInput = z.object({ issuer_ref: z.string(), ...issuerFields });
let store: Store;
let app: App;

before(async () => {
  store = await openStore({ engine: 'sqlite', directory });
  ({ app } = await openTestApp(store));
});

after(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const newMount = (): Mount => testMount({ kind: 'secret', path: 'pki/', type: 'pki' });

async function generate(mount: Mount, fields: Record<string, unknown> = {}) {
  const body = { exported: 'internal', common_name: 'Root', key_type: 'ec', ...fields };
  return generateRoot(app, testCaller(mount), rootInput.parse(body));
}

function refusal(kind: string, phrase: RegExp) {
  return (error: unknown) =>
    error instanceof Failure && error.kind === kind && phrase.test(error.message);
}

test('a root signs itself, is stored, and is the default of an empty mount', async () => {
  const mount = newMount();
  const { data, warnings } = await generate(mount, { issuer_name: 'first', key_name: 'k' });
  const stored = await findCertificate(app.db, mount.id, data.serial_number);
  assert.ok(stored);
  const certificate = parseCertificate(stored.der);
  assert.ok(isSelfSigned(certificate));
  assert.ok(certificate.isCa);
  assert.equal('private_key' in data, false);
  assert.match(warnings[0] ?? '', /^This mount hasn't configured any authority information/);
  const { defaults } = await readMountState(app, mount.id);
  assert.equal(defaults.default_issuer, data.issuer_id);
  assert.equal(defaults.default_key, data.key_id);
});

test('the private key is answered with "exported" alone', async () => {
  const { data } = await generate(newMount(), { exported: 'exported', format: 'pem_bundle' });
  assert.match(data.private_key ?? '', /^-----BEGIN EC PRIVATE KEY-----/);
  assert.match(data.certificate, /^-----BEGIN EC PRIVATE KEY[\s\S]*-----BEGIN CERTIFICATE-----/);
  assert.match(data.issuing_ca, /^-----BEGIN CERTIFICATE-----/);
});

for (const key_type of ['rsa', 'ed25519']) {
  test(`a root of type ${key_type} signs itself`, async () => {
    const mount = newMount();
    const { data } = await generate(mount, { key_type });
    const { issuers } = await readMountState(app, mount.id);
    const issuer = issuers.get(data.issuer_id);
    assert.ok(issuer && isSelfSigned(issuer.certificate));
  });
}

const refusals: [fields: Record<string, unknown>, phrase: RegExp, why: string][] = [
  [{ exported: 'existing' }, /key_type nor key_bits arguments/, 'an existing key has its type'],
  [{ issuer_name: 'Default' }, /reserved keyword 'default'/, 'default is no name'],
  [{ issuer_name: '' }, /expected non-empty issuer name/, 'an empty name is no name'],
  [{ issuer_name: 'a b' }, /invalid characters/, 'a name that cannot stand in a path'],
  [{ key_name: 'default' }, /reserved keyword 'default'/, 'default is no name of a key either'],
  [{ issuer_name: '6F1c0b2e-0000-4000-8000-0123456789ab' }, /form of an ID/, 'an ID is no name'],
  [{ key_name: '6f1c0b2e-0000-4000-8000-0123456789ab' }, /form of an ID/, "nor a key's"],
  [{ exported: 'kms' }, /key_type nor key_bits arguments/, 'a managed key has its type'],
  [{ exported: 'nonsense' }, /"exported" path parameter must be/, 'another way'],
  [{ key_type: 'dsa' }, /unknown key type/, 'a type nobody has'],
  [{ key_type: 'rsa', key_bits: 1024 }, /< 2048 bits are unsafe/, 'a small RSA key'],
  [{ common_name: '' }, /common_name is required/, 'a subject without anything in it'],
];

for (const [fields, phrase, why] of refusals) {
  test(`refused: ${why}`, async () => {
    const mount = newMount();
    await assert.rejects(generate(mount, fields), refusal('invalid', phrase));
    const { issuers, keys } = await readMountState(app, mount.id);
    assert.equal(issuers.size + keys.size, 0, 'nothing is left of it');
  });
}

test('a name that is taken is refused, for issuers and for keys', async () => {
  const mount = newMount();
  await generate(mount, { issuer_name: 'a', key_name: 'k' });
  await assert.rejects(
    generate(mount, { issuer_name: 'a' }),
    refusal('invalid', /issuer name already in use/),
  );
  await assert.rejects(
    generate(mount, { key_name: 'k' }),
    refusal('invalid', /key name already in use/),
  );
});

test('a second root leaves the default, unless the default follows the latest', async () => {
  const mount = newMount();
  const first = await generate(mount);
  await generate(mount);
  assert.equal((await readMountState(app, mount.id)).defaults.default_issuer, first.data.issuer_id);
  await writeIssuersConfig(app, testCaller(mount), {
    default: first.data.issuer_id,
    default_follows_latest_issuer: true,
  });
  const third = await generate(mount);
  assert.equal((await readMountState(app, mount.id)).defaults.default_issuer, third.data.issuer_id);
});

test('two roots made at once are both there, and one of them is the default', async () => {
  const mount = newMount();
  const made = await Promise.all([generate(mount), generate(mount), generate(mount)]);
  const { issuers, defaults } = await readMountState(app, mount.id);
  assert.equal(issuers.size, 3);
  assert.ok(made.some(({ data }) => data.issuer_id === defaults.default_issuer));
});

test('of two roots made at once with one name, one is refused', async () => {
  const mount = newMount();
  const outcomes = await Promise.allSettled([
    generate(mount, { issuer_name: 'same' }),
    generate(mount, { issuer_name: 'same' }),
  ]);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('an existing key can sign a second root', async () => {
  const mount = newMount();
  const first = await generate(mount, { key_name: 'k' });
  const second = await generate(mount, { exported: 'existing', key_type: undefined, key_ref: 'k' });
  assert.equal(second.data.key_id, first.data.key_id);
  await assert.rejects(
    generate(mount, { exported: 'existing', key_type: undefined, key_ref: 'none' }),
    refusal('unresolved', /unable to find PKI key for reference: none/),
  );
});

test('without issuers the CA is empty, and certificates are still listed', async () => {
  const mount = newMount();
  const { data } = await generate(mount);
  const { warnings } = await removeRoot(app, testCaller(mount));
  assert.match(warnings?.[0] ?? '', /DELETE \/root deletes all keys and issuers/);
  assert.equal(await findDefaultIssuer(app, testCaller(mount)), undefined);
  const page = { after: '', limit: 9 };
  assert.deepEqual(await listSerials(app.db, { mount_id: mount.id, ...page }), [
    data.serial_number,
  ]);
});

test('a manual chain begins with the issuer itself', async () => {
  const mount = newMount();
  const caller = testCaller(mount);
  const a = await generate(mount, { issuer_name: 'a' });
  const b = await generate(mount, { issuer_name: 'b' });
  await assert.rejects(
    updateIssuer(app, caller, { issuer_ref: 'a', manual_chain: ['b'] }),
    refusal('invalid', /self-reference/),
  );
  const { data } = await updateIssuer(app, caller, {
    issuer_ref: 'a',
    manual_chain: ['self', 'b'],
  });
  assert.deepEqual(data?.manual_chain, [a.data.issuer_id, b.data.issuer_id]);
  assert.equal(data?.ca_chain.length, 2);
});

test('an issuer can be deleted twice, and the default goes with it', async () => {
  const mount = newMount();
  const { data } = await generate(mount);
  const caller = testCaller(mount);
  const first = await removeIssuer(app, caller, { issuer_ref: 'default' });
  assert.match(first.warnings?.[0] ?? '', /configured as the default issuer/);
  assert.deepEqual(await removeIssuer(app, caller, { issuer_ref: data.issuer_id }), { data: null });
  await assert.rejects(
    requireIssuer(app, caller, data.issuer_id),
    refusal('unresolved', /unable to find PKI issuer for reference/),
  );
});

test('a key in use stays; afterwards it can be deleted, and twice', async () => {
  const mount = newMount();
  const caller = testCaller(mount);
  const { data } = await generate(mount, { key_name: 'k' });
  await assert.rejects(
    removeKey(app, caller, { key_ref: 'k' }),
    refusal('invalid', new RegExp(`Key in Use by Issuer: ${data.issuer_id}`)),
  );
  await removeIssuer(app, caller, { issuer_ref: data.issuer_id });
  const gone = await removeKey(app, caller, { key_ref: 'k' });
  assert.match(gone.warnings?.[0] ?? '', /configured as the default key/);
  assert.deepEqual(await removeKey(app, caller, { key_ref: 'k' }), {});
});

test('POST clears the name that it does not send, PATCH keeps it', async () => {
  const mount = newMount();
  const caller = testCaller(mount);
  const { data } = await generate(mount, { issuer_name: 'named' });
  const ref = { issuer_ref: data.issuer_id };
  const patched = await updateIssuer(app, caller, { ...ref, leaf_not_after_behavior: 'permit' });
  assert.equal(patched.data?.issuer_name, 'named');
  const posted = await writeIssuer(app, caller, issuerInput.parse(ref));
  assert.equal(posted.data?.issuer_name, '');
  assert.equal(posted.data?.leaf_not_after_behavior, 'err');
});

test('"default" cannot be the default issuer', async () => {
  const mount = newMount();
  await generate(mount);
  await assert.rejects(
    writeIssuersConfig(app, testCaller(mount), { default: 'Default' }),
    refusal('invalid', /can't be 'default'/),
  );
});

test('an unknown usage is refused by its name', async () => {
  const mount = newMount();
  await generate(mount);
  await assert.rejects(
    updateIssuer(app, testCaller(mount), { issuer_ref: 'default', usage: ['fly'] }),
    refusal(
      'invalid',
      /^Unable to parse specified usages: \[fly\] - valid values are crl-signing,/,
    ),
  );
});

test('a key takes a free name and no other', async () => {
  const mount = newMount();
  const caller = testCaller(mount);
  await generate(mount, { key_name: 'a' });
  await generate(mount, { key_name: 'b' });
  await assert.rejects(
    updateKey(app, caller, { key_ref: 'a', key_name: 'b' }),
    refusal('invalid', /already in use/),
  );
  const { data } = await updateKey(app, caller, { key_ref: 'a', key_name: 'c' });
  assert.equal(data?.key_name, 'c');
});

test('serial numbers have 20 bytes, are positive without a sign byte, and all different', () => {
  const texts = Array.from({ length: 1000 }, () => {
    const serial = newSerialNumber(app);
    assert.equal(serial.length, 20);
    const [first = 0] = serial;
    assert.ok(first > 0 && first < 0x80);
    return Buffer.from(serial).toString('hex');
  });
  assert.equal(new Set(texts).size, 1000);
  // None is a piece of another that stands beside it.
  assert.equal(new Set(texts.map((text) => text.slice(2, 20))).size, 1000);
});

test('of many keys that are made at once none is refused for the others', async () => {
  const mount = newMount();
  const names = Array.from({ length: 20 }, (_, at) => `key-${at}`);
  await Promise.all(
    names.map((key_name) =>
      generateStoredKey(app, testCaller(mount), {
        exported: 'internal',
        key_type: 'ec',
        key_bits: 0,
        key_name,
      }),
    ),
  );
  const { keys } = await readMountState(app, mount.id);
  assert.deepEqual([...keys.values()].map(({ name }) => name).sort(), names.sort());
});
