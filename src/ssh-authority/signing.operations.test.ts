import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../test/support/app.ts';
import { eachEngine, sqlitePlace } from '../../test/support/engines.ts';
import { askerOf, makeKeyInTurn } from '../access/concurrency/operations.ts';
import { signInTurn } from '../access/concurrency/signatures.operations.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { parseCertificateLine } from '../ssh/certificate.ts';
import { encodeSshPublicKey } from '../ssh/public-key.ts';
import type { Store } from '../store/store.ts';
import { isAuditEntry } from '../store/write.ts';
import {
  findRole,
  removeAuthority,
  removeRole,
  signByAuthority,
  writeAuthority,
  writeRole,
} from './operations.ts';
import { roleSchema } from './role.ts';
import { issueKey, signKey } from './signing.operations.ts';

const public_key = encodeSshPublicKey(generateKeyPairSync('ed25519').publicKey);
const RSA = generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey;
const ED25519 = generateKeyPairSync('ed25519').privateKey;
const OPS = { key_type: 'ca', allow_user_certificates: true, default_user: 'ann' };

async function startApp(t: TestContext): Promise<App> {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  t.after(() => place.remove());
  return app;
}

/** Somebody at a mount whose authority has that key. */
async function atAuthority(app: App, path: string, key: KeyObject): Promise<Caller> {
  await enableTestMount(app, { kind: 'secret', path, type: 'ssh' });
  const mount = await requireTestMount(app, path);
  const private_key = String(key.export({ type: 'pkcs8', format: 'pem' }));
  const brought = { generate_signing_key: false, key_type: '', key_bits: 0, private_key };
  await writeAuthority(app, testCaller(mount), brought);
  await writeRole(app, testCaller(mount), { name: 'ops', ...roleSchema.parse(OPS) });
  return testCaller(mount);
}

const REQUEST = {
  role: 'ops',
  public_key,
  valid_principals: '',
  cert_type: 'user',
  ttl: 0,
  key_id: '',
  critical_options: {},
  extensions: {},
} as const;

test('an authority with an RSA key signs when it is the caller’s turn, one with a quick key at once', async (t) => {
  const app = await startApp(t);
  const rsa = await atAuthority(app, 'rsa/', RSA);
  const quick = await atAuthority(app, 'quick/', ED25519);
  const { promise, resolve } = Promise.withResolvers<void>();
  const hold = () => signInTurn(app, rsa, { key_type: 'rsa', key_bits: 2048 }, () => promise);
  const held = [hold(), hold()];
  let isSigned = false;
  const signing = signKey(app, rsa, REQUEST).then((signed) => {
    isSigned = true;
    return signed;
  });
  for (let nth = 0; nth < 5; nth++) await signKey(app, quick, REQUEST);
  assert.equal(isSigned, false);
  resolve();
  await Promise.all(held);
  const { data } = await signing;
  assert.equal(parseCertificateLine(data.signed_key.trim())?.signed_by.type, 'ssh-rsa');
});

for (const [what, change, told] of [
  [
    'its role is removed',
    (app: App, caller: Caller) => removeRole(app, caller, { name: 'ops' }),
    /unknown role/,
  ],
  [
    'its role is another one',
    (app: App, caller: Caller) =>
      writeRole(app, caller, { name: 'ops', ...roleSchema.parse({ key_type: 'ca' }) }),
    /not allowed by role/,
  ],
  ['its authority is removed', removeAuthority, /keys haven't been configured/],
] as const) {
  test(`what waits to be signed is refused where ${what} meanwhile`, async (t) => {
    const app = await startApp(t);
    const caller = await atAuthority(app, 'rsa/', RSA);
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold = () => signInTurn(app, caller, { key_type: 'rsa', key_bits: 2048 }, () => promise);
    const held = [hold(), hold()];
    const signing = signKey(app, caller, REQUEST);
    const refused = assert.rejects(signing, told);
    // As many reads as it takes until it waits.
    for (let nth = 0; nth < 5; nth++) await findRole(app, caller, 'ops');
    await change(app, caller);
    resolve();
    await Promise.all([...held, refused]);
  });
}

test('many signatures with an RSA key of 4096 bits hold nobody else up', async (t) => {
  const app = await startApp(t);
  const caller = await atAuthority(app, 'rsa/', RSA);
  const data = Buffer.alloc(300);
  let done = 0;
  const all = Array.from({ length: 60 }, async () => {
    await signByAuthority(app, caller, { key: RSA, algorithm: 'rsa-sha2-512' }, data);
    done += 1;
  });
  await signByAuthority(app, caller, { key: ED25519, algorithm: 'ssh-ed25519' }, data);
  await nextTurn();
  assert.ok(done <= 10, `${done} were made before others had their turn`);
  await Promise.all(all);
});

const { public_key: _public_key, ...ISSUE } = {
  ...REQUEST,
  key_type: 'rsa',
  key_bits: 4096,
} as const;
const WITHOUT = { generate_signing_key: true, key_type: 'ssh-rsa', key_bits: 0, private_key: '' };

for (const [why, ask, told] of [
  [
    'a certificate that the role does not allow',
    (app: App, caller: Caller) => issueKey(app, caller, { ...ISSUE, cert_type: 'host' }),
    /not allowed by role/,
  ],
  [
    'a name that the role does not allow',
    (app: App, caller: Caller) => issueKey(app, caller, { ...ISSUE, valid_principals: 'eve' }),
    /eve is not a valid value/,
  ],
  [
    'an authority beside the one that is there',
    (app: App, caller: Caller) => writeAuthority(app, caller, WITHOUT),
    /already configured/,
  ],
  [
    'a certificate where there is no authority',
    async (app: App, caller: Caller) => {
      await removeAuthority(app, caller);
      return issueKey(app, caller, ISSUE);
    },
    /keys haven't been configured/,
  ],
] as const) {
  test(`no key is made for what is refused: ${why}`, async (t) => {
    const app = await startApp(t);
    const caller = await atAuthority(app, 'ssh/', ED25519);
    const { promise, resolve } = Promise.withResolvers<void>();
    t.after(() => resolve());
    for (let nth = 0; nth < 8; nth++) void makeKeyInTurn(app, askerOf(caller), () => promise);
    await assert.rejects(ask(app, caller), told);
  });
}

const USERS = Array.from({ length: 999 }, (_, at) => `user-${at}`.padEnd(200, 'x'));

/** Characters of all that is written meanwhile, but for records. */
async function countSent(store: Store, work: () => Promise<unknown>): Promise<number> {
  const { commit } = store;
  let sent = 0;
  store.commit = (effects) => {
    const values = effects.flatMap((effect) => (isAuditEntry(effect) ? [] : effect.parameters));
    for (const value of values) sent += String(value).length;
    return commit(effects);
  };
  await work();
  store.commit = commit;
  return sent;
}

eachEngine('what a certificate rests on', (open) => {
  test('is sent with it at the same length however long its role is', async () => {
    const store = await open();
    const { app } = await openTestApp(store);
    const caller = await atAuthority(app, 'ssh/', ED25519);
    const sign = () => signKey(app, caller, REQUEST);
    const short = await countSent(store, sign);
    const role = roleSchema.parse({ ...OPS, allowed_users: ['ann', ...USERS] });
    await writeRole(app, caller, { name: 'ops', ...role });
    assert.ok(short > 0);
    assert.equal(await countSent(store, sign), short);
  });

  test('is the same role where that is written again as it is', async () => {
    const store = await open();
    const { app } = await openTestApp(store);
    const caller = await atAuthority(app, 'ssh/', ED25519);
    const tagNow = async () => (await findRole(app, caller, 'ops'))?.body_tag;
    const tags: unknown[] = [await tagNow()];
    for (const role of [OPS, { ...OPS, ttl: '1h' }, OPS]) {
      await writeRole(app, caller, { name: 'ops', ...roleSchema.parse(role) });
      tags.push(await tagNow());
    }
    assert.equal(tags[1], tags[0]);
    assert.equal(new Set(tags).size, 3);
  });
});
