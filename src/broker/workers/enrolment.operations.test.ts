import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { eachPlace, type Place } from '../../../test/support/engines.ts';
import { newDirectory, settingsOf } from '../../../test/support/node-process.ts';
import { type Client, startTestServer } from '../../../test/support/server.ts';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { enrolWorker, findWorkerOfKey, keyHash, renewWorker } from './enrolment.operations.ts';
import { listKnownKeys } from './enrolment.store.ts';
import {
  ed25519Key,
  formatWorkerToken,
  isProof,
  parseActivationToken,
  serverProof,
  workerProof,
} from './proof.ts';

const SERVER_CERTIFICATE = new Uint8Array(300).fill(3);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

interface World {
  app: App;
  call: Client['call'];
  /** Lets time pass. */
  pass(milliseconds: number): void;
}

/** A server of one node on either engine. */
async function startWorld(t: TestContext, place: Place): Promise<World> {
  const { storage, seal } = settingsOf(place, newDirectory(t));
  let later = 0;
  const config = {
    mode: 'server' as const,
    dev_root_token: undefined,
    storage:
      storage.type === 'sqlite' ? { type: 'sqlite' as const, directory: storage.path } : storage,
    seal,
  };
  const server = await startTestServer(t, { config, now: () => Date.now() + later });
  const token = (await server.call('PUT', 'sys/init', {}, { token: '' })).textAt('root_token');
  return {
    app: server.running.app,
    call: (method, path, body) => server.call(method, path, body, { token }),
    pass: (milliseconds) => {
      later += milliseconds;
    },
  };
}

interface Expected {
  id: string;
  nonce: Uint8Array;
  secret: Uint8Array;
}

async function expectOne({ call }: World): Promise<Expected> {
  const made = await call('POST', 'workers:create:controller-led', { scope_id: 'global' });
  const token = parseActivationToken(made.textAt('controller_generated_activation_token'));
  assert.ok(token, made.text);
  return { id: made.textAt('id'), ...token };
}

const newPublicKey = (): Uint8Array =>
  generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' });

const come = (
  app: App,
  { nonce, secret }: Pick<Expected, 'nonce' | 'secret'>,
  public_key = newPublicKey(),
) => {
  const proof = workerProof({ secret, public_key, server_certificate: SERVER_CERTIFICATE });
  return enrolWorker(app, { public_key, nonce, proof, server_certificate: SERVER_CERTIFICATE });
};

const isNotExpected = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'forbidden' && /no such worker/.test(error.message);

eachPlace('enrolment of workers', (newPlace) => {
  test('who comes with the token is given a certificate in its own name, and a proof of it', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const public_key = newPublicKey();
    const enrolled = await come(world.app, expected, public_key);
    assert.equal(enrolled.worker_id, expected.id);
    const certificate = new X509Certificate(enrolled.certificate);
    assert.equal(certificate.subjectAltName, `DNS:${expected.id}`);
    assert.deepEqual(
      certificate.publicKey.export({ type: 'spki', format: 'der' }),
      Buffer.from(public_key),
    );
    const [current] = enrolled.roots;
    assert.ok(current && certificate.verify(new X509Certificate(current).publicKey));
    const { secret } = expected;
    const meeting = { secret, public_key, server_certificate: SERVER_CERTIFICATE };
    const proof = serverProof(meeting, [enrolled.certificate, ...enrolled.roots]);
    assert.ok(isProof(proof, enrolled.proof));
    assert.equal(await findWorkerOfKey(world.app, public_key), expected.id);
    assert.equal(await findWorkerOfKey(world.app, newPublicKey()), undefined);
  });

  test('of two workers that use one token at once one is enrolled', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const keys = [newPublicKey(), newPublicKey(), newPublicKey()];
    const outcomes = await Promise.allSettled(keys.map((key) => come(world.app, expected, key)));
    const refused = outcomes.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, 2);
    assert.ok(refused.every(({ reason }) => isNotExpected(reason)));
    const known = await Promise.all(keys.map((key) => findWorkerOfKey(world.app, key)));
    assert.deepEqual(
      known.filter((id) => id !== undefined),
      [expected.id],
    );
    await assert.rejects(come(world.app, expected), isNotExpected, 'nor later');
  });

  test('a wrong proof is refused, and leaves the token good', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const { nonce, secret } = expected;
    const public_key = newPublicKey();
    const meeting = { secret, public_key, server_certificate: SERVER_CERTIFICATE };
    for (const proof of [
      workerProof({ ...meeting, secret: randomBytes(32) }),
      workerProof({ ...meeting, server_certificate: randomBytes(300) }),
      workerProof({ ...meeting, public_key: newPublicKey() }),
      serverProof(meeting, []),
      new Uint8Array(0),
    ]) {
      const asked = { public_key, nonce, proof, server_certificate: SERVER_CERTIFICATE };
      await assert.rejects(enrolWorker(world.app, asked), isNotExpected);
    }
    const unknown = { nonce: new Uint8Array(randomBytes(32)), secret };
    await assert.rejects(come(world.app, unknown), isNotExpected);
    await assert.rejects(come(world.app, { nonce: new Uint8Array(), secret }), isNotExpected);
    assert.equal((await come(world.app, expected)).worker_id, expected.id);
  });

  test('no other key than one of Ed25519 is taken', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keys = [publicKey.export({ type: 'spki', format: 'der' }), new Uint8Array(44)];
    for (const key of keys) {
      await assert.rejects(come(world.app, expected, key), /a key of Ed25519/);
    }
    const own = newPublicKey();
    await come(world.app, expected, own);
    const who = { worker_id: expected.id, key_sha256: keyHash(own) };
    for (const key of keys) {
      await assert.rejects(renewWorker(world.app, who, key), /a key of Ed25519/);
    }
  });

  test('a token runs out after two weeks', async (t) => {
    const world = await startWorld(t, await newPlace());
    const early = await expectOne(world);
    const late = await expectOne(world);
    world.pass(14 * DAY_MS - 60_000);
    await come(world.app, early);
    world.pass(120_000);
    await assert.rejects(come(world.app, late), isNotExpected);
  });

  test('a worker that was deleted is not enrolled any more, and one that was enrolled not known', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    assert.equal((await world.call('DELETE', `workers/${expected.id}`)).status, 204);
    await assert.rejects(come(world.app, expected), isNotExpected);

    const enrolled = await expectOne(world);
    const public_key = newPublicKey();
    await come(world.app, enrolled, public_key);
    assert.equal((await world.call('DELETE', `workers/${enrolled.id}`)).status, 204);
    assert.equal(await findWorkerOfKey(world.app, public_key), undefined);
    const who = { worker_id: enrolled.id, key_sha256: keyHash(public_key) };
    await assert.rejects(renewWorker(world.app, who, newPublicKey()), { kind: 'conflict' });
  });

  test('a worker that has shown its token comes by its key, and no other does', async (t) => {
    const world = await startWorld(t, await newPlace());
    const public_key = newPublicKey();
    const key = ed25519Key(public_key);
    assert.ok(key);
    const secret = new Uint8Array(randomBytes(32));
    const made = await world.call('POST', 'workers:create:worker-led', {
      scope_id: 'global',
      worker_generated_auth_token: formatWorkerToken({ public_key: key, secret }),
    });
    assert.equal(made.status, 200, made.text);
    assert.equal(made.field('controller_generated_activation_token'), undefined);
    const nonce = new Uint8Array();
    await assert.rejects(come(world.app, { nonce, secret }), isNotExpected);
    const other = { nonce, secret: new Uint8Array(randomBytes(32)) };
    await assert.rejects(come(world.app, other, public_key), isNotExpected);
    const enrolled = await come(world.app, { nonce, secret }, public_key);
    assert.equal(enrolled.worker_id, made.textAt('id'));
    await assert.rejects(come(world.app, { nonce, secret }, public_key), isNotExpected);
  });

  test('new roots end all that was enrolled under the former ones', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const public_key = newPublicKey();
    const before = await come(world.app, expected, public_key);
    const scope_id = 'global';
    await world.call('POST', 'workers:reinitialize-certificate-authority', { scope_id });
    assert.equal(await findWorkerOfKey(world.app, public_key), undefined);
    const after = await come(world.app, await expectOne(world));
    assert.notDeepEqual(after.roots, before.roots);
  });

  test('a renewed key follows the old one once the worker comes with it', async (t) => {
    const world = await startWorld(t, await newPlace());
    const { app } = world;
    const expected = await expectOne(world);
    const [first, lost, second] = [newPublicKey(), newPublicKey(), newPublicKey()];
    await come(app, expected, first);
    const who = { worker_id: expected.id, key_sha256: keyHash(first) };
    world.pass(7 * DAY_MS);
    await renewWorker(app, who, lost);
    world.pass(60_000);
    const renewed = await renewWorker(app, who, second);
    assert.equal(new X509Certificate(renewed.certificate).subjectAltName, `DNS:${expected.id}`);
    assert.equal(await findWorkerOfKey(app, first), expected.id, 'still good');
    assert.equal(await findWorkerOfKey(app, second), expected.id);
    assert.equal(await findWorkerOfKey(app, first), undefined, 'and over');
    assert.equal(await findWorkerOfKey(app, lost), undefined, 'it never came with that');
    await assert.rejects(renewWorker(app, who, second), { kind: 'conflict' });
  });

  test('a renewal that comes late leaves the key good that another node has given meanwhile', async (t) => {
    const world = await startWorld(t, await newPlace());
    const { app } = world;
    const expected = await expectOne(world);
    const [first, given, late] = [newPublicKey(), newPublicKey(), newPublicKey()];
    await come(app, expected, first);
    const who = { worker_id: expected.id, key_sha256: keyHash(first) };
    world.pass(7 * DAY_MS);
    await renewWorker(app, who, given);
    world.pass(HOUR_MS - 1_000);
    await renewWorker(app, who, late);
    assert.equal(await findWorkerOfKey(app, given), expected.id);
    assert.equal(await findWorkerOfKey(app, first), undefined);
    const newest = newPublicKey();
    await assert.rejects(renewWorker(app, who, newest), { kind: 'conflict' }, 'it has another key');
    assert.equal(await findWorkerOfKey(app, newest), undefined);
  });

  test('a key that a worker has not come with for an hour is forgotten when it asks for another', async (t) => {
    const world = await startWorld(t, await newPlace());
    const { app } = world;
    const expected = await expectOne(world);
    const [first, lost, second] = [newPublicKey(), newPublicKey(), newPublicKey()];
    await come(app, expected, first);
    const who = { worker_id: expected.id, key_sha256: keyHash(first) };
    await renewWorker(app, who, lost);
    world.pass(HOUR_MS + 1_000);
    await renewWorker(app, who, second);
    assert.equal(await findWorkerOfKey(app, lost), undefined);
    assert.equal(await findWorkerOfKey(app, second), expected.id);
  });

  test('a worker has eight keys at most, also where it asks for more at once', async (t) => {
    const world = await startWorld(t, await newPlace());
    const { app } = world;
    const expected = await expectOne(world);
    const first = newPublicKey();
    await come(app, expected, first);
    const who = { worker_id: expected.id, key_sha256: keyHash(first) };
    const keys = Array.from({ length: 12 }, newPublicKey);
    const asked = await Promise.allSettled(keys.map((key) => renewWorker(app, who, key)));
    const refused = asked.filter((one) => one.status === 'rejected');
    assert.ok(
      refused.every(({ reason }) => reason instanceof Failure && reason.kind === 'conflict'),
    );
    const hashes = keys.map(keyHash);
    assert.equal((await listKnownKeys(app.db, hashes, app.now())).size, 7);
    await assert.rejects(renewWorker(app, who, newPublicKey()), { kind: 'conflict' });
    world.pass(HOUR_MS + 1_000);
    await renewWorker(app, who, newPublicKey());
  });

  test('a key that is not renewed runs out with its certificate', async (t) => {
    const world = await startWorld(t, await newPlace());
    const expected = await expectOne(world);
    const public_key = newPublicKey();
    await come(world.app, expected, public_key);
    const { app } = world;
    const hash = keyHash(public_key);
    // Of connections that are there: one that outlives its certificate is closed.
    const stays = async () => (await listKnownKeys(app.db, [hash], app.now())).has(hash);
    world.pass(14 * DAY_MS - 60_000);
    assert.equal(await findWorkerOfKey(app, public_key), expected.id);
    assert.ok(await stays());
    world.pass(60_001);
    assert.equal(await findWorkerOfKey(app, public_key), undefined);
    assert.ok(!(await stays()));
  });
});
