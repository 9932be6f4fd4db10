import { createHash } from 'node:crypto';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { describeResource } from '../resource/answers.operations.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { checkNew, FieldErrors, IN_REQUEST } from '../resource/field-errors.ts';
import { type AnswerOf, type ItemOf, isOf } from '../resource/handler.ts';
import { planResource } from '../resource/operations.ts';
import type { Scope } from '../resource/resource.ts';
import type { BoundaryRequest } from '../resource/route.ts';
import { findResource, insertResource, saveResource } from '../resource/store.ts';
import {
  deleteActivation,
  deleteActivationsBefore,
  deleteOlderKeys,
  deleteUnusedKeys,
  findActivation,
  findKey,
  insertActivation,
  insertKey,
  insertNextKey,
  requireKey,
} from './enrolment.store.ts';
import { type WorkerKind, workerDefinition } from './operations.ts';
import {
  ed25519Info,
  ed25519Key,
  type FirstMeeting,
  formatActivationToken,
  isProof,
  parseWorkerToken,
  serverProof,
  workerProof,
} from './proof.ts';
import { makeWorkerLeaf } from './root/operations.ts';
import { ALONE_KEY } from './worker.ts';

/** How long a worker may take to come with its token. */
const ACTIVATION_MS = 14 * 86_400_000;

type Flow = 'controller-led' | 'worker-led';

/** What is wrong with a new worker's fields. */
export function checkEnrolment(
  flow: Flow,
  { item, query }: BoundaryRequest<ItemOf<WorkerKind>>,
): void {
  const errors = new FieldErrors();
  checkNew(item, errors);
  workerDefinition.checkNew(item, 'worker', errors, query);
  const token = item.worker_generated_auth_token;
  if (flow === 'worker-led') {
    if (!token) errors.add('worker_generated_auth_token', 'Cannot be empty.');
    else if (!parseWorkerToken(token)) {
      errors.add('worker_generated_auth_token', 'This is not what a worker prints as its token.');
    }
  } else if (token) {
    errors.add(
      'worker_generated_auth_token',
      'Worker-generated auth tokens are not used with the controller-led creation flow.',
    );
  }
  errors.refuse(IN_REQUEST);
}

interface NewWorker {
  item: ItemOf<WorkerKind>;
  scope: Scope;
}

/** Makes a worker that is expected, and the token it will come with; shown this once. */
export async function expectWorker(
  app: App,
  caller: BrokerCaller,
  request: NewWorker,
): Promise<AnswerOf<WorkerKind>> {
  const nonce = app.randomBytes(32);
  const token = formatActivationToken({ nonce, secret: secretOf(app, nonce) });
  const described = await insertExpected(app, caller, request, {
    token_hmac: tokenHmac(app, nonce),
    secret_sealed: null,
  });
  return { ...described, controller_generated_activation_token: token };
}

/** Makes a worker that has shown its token, and comes with the key that is named there. */
export async function admitWorker(
  app: App,
  caller: BrokerCaller,
  request: NewWorker,
): Promise<AnswerOf<WorkerKind>> {
  const token = parseWorkerToken(request.item.worker_generated_auth_token ?? '');
  if (!token) throw new TypeError('a token that was checked is none');
  const token_hmac = tokenHmac(app, ed25519Info(token.public_key));
  const secret_sealed = app.barrier.encrypt('credential', secretPlace(token_hmac), token.secret);
  return insertExpected(app, caller, request, { token_hmac, secret_sealed });
}

async function insertExpected(
  app: App,
  caller: BrokerCaller,
  { item, scope }: NewWorker,
  token: { token_hmac: string; secret_sealed: Uint8Array | null },
): Promise<AnswerOf<WorkerKind>> {
  const { resource, effects } = await planResource(app, caller, workerDefinition, {
    item,
    subtype: 'worker',
    wanted: undefined,
    container: { scope, parent: undefined },
  });
  const now = app.now();
  caller.record.outcome.resource_id = resource.id;
  await app.commit(caller, [
    insertResource(resource),
    ...effects,
    deleteActivationsBefore(now),
    insertActivation({ ...token, worker_id: resource.id, expires_ms: now + ACTIVATION_MS }),
    bumpConfigVersion(),
  ]);
  return describeResource(app, caller, workerDefinition, resource);
}

/** Of an activation token's secret: made of its nonce, so that nothing secret has to be kept. */
const secretOf = (app: App, nonce: Uint8Array): Uint8Array =>
  app.barrier.hmac('token', Buffer.concat([Buffer.from('worker activation secret '), nonce]));

/** What a token is found by: its nonce, or the worker's key where that has made it. */
const tokenHmac = (app: App, known_by: Uint8Array): string =>
  app.barrier
    .hmac('token', Buffer.concat([Buffer.from('worker activation '), known_by]))
    .toString('hex');

const secretPlace = (token_hmac: string) => ({
  table: 'worker_activation',
  column: 'secret_sealed',
  row: token_hmac,
});

/** In lower-case hex. */
export const keyHash = (subjectPublicKeyInfo: Uint8Array): string =>
  createHash('sha256').update(subjectPublicKeyInfo).digest('hex');

/** What a worker that comes for the first time shows. */
interface Enrolment {
  /** DER of its subjectPublicKeyInfo. */
  public_key: Uint8Array;
  /** Of the activation token; empty when the worker has made its own token. */
  nonce: Uint8Array;
  proof: Uint8Array;
  /** Of this connection, DER. */
  server_certificate: Uint8Array;
}

/** What it is answered: all that it needs to come again. */
interface Enrolled {
  worker_id: string;
  /** DER. */
  certificate: Uint8Array;
  roots: readonly Uint8Array[];
  proof: Uint8Array;
}

const NO_KEY = 'a worker proves itself by a key of Ed25519';
const NOT_EXPECTED = 'no such worker is expected: its token is unknown, used up or has run out';

/**
 * Enrols a worker that is expected: its token is used up by it.
 *
 * @throws Failure `forbidden` for a token that is not known, or a proof that is wrong
 */
export async function enrolWorker(app: App, request: Enrolment): Promise<Enrolled> {
  const { public_key, nonce, server_certificate } = request;
  if (!ed25519Key(public_key)) throw new Failure('forbidden', NO_KEY);
  const isOwn = nonce.length === 0;
  const token_hmac = tokenHmac(app, isOwn ? public_key : nonce);
  const known = await findActivation(app.db, token_hmac, app.now());
  if (!known || (known.secret_sealed !== null) !== isOwn) {
    throw new Failure('forbidden', NOT_EXPECTED);
  }
  const { worker_id, secret_sealed } = known;
  const secret = secret_sealed
    ? app.barrier.decrypt('credential', secretPlace(token_hmac), secret_sealed)
    : secretOf(app, nonce);
  const meeting: FirstMeeting = { secret, public_key, server_certificate };
  if (!isProof(workerProof(meeting), request.proof)) throw new Failure('forbidden', NOT_EXPECTED);
  const worker = await findResource(app.db, worker_id);
  if (!isOf(workerDefinition, worker)) throw new Failure('forbidden', NOT_EXPECTED);
  const leaf = await makeWorkerLeaf(app, worker_id, public_key);
  const enrolled = {
    ...worker,
    unique_key: `${ALONE_KEY}:${worker_id}`,
    version: worker.version + 1,
    updated_ms: app.now(),
  };
  const caller = systemCaller(app.newId(), 'enrol-worker');
  caller.record.outcome.resource_id = worker_id;
  try {
    await app.commit(caller, [
      deleteActivation(token_hmac),
      insertKey({ key_sha256: keyHash(public_key), worker_id, not_after_ms: leaf.not_after_ms }),
      saveResource(enrolled, worker.version),
      bumpConfigVersion(),
    ]);
  } catch (error) {
    // Somebody else has used the token, or the worker is being removed.
    if (isConflict(error)) throw new Failure('forbidden', NOT_EXPECTED);
    throw error;
  }
  const { certificate, roots } = leaf;
  const proof = serverProof(meeting, [certificate, ...roots]);
  return { worker_id, certificate, roots, proof };
}

/**
 * A key that a worker was given and has not come with is kept for so long: this renewal may be the late one, of a
 * node that was stalled, and the other one is what the worker has by now.
 */
const UNUSED_MS = 3_600_000;

/** Of one worker: a worker that asks again and again has no more, with those that it does not use. */
const MOST_KEYS = 8;

/**
 * A worker that is enrolled renews its certificate, with a new key each time. One that it has asked
 * for long before and never come with is forgotten.
 *
 * @param who the worker, and the key that it has proved to have
 * @throws Failure `forbidden` for what is no key of its kind, `conflict` for one that is taken, where the worker has
 *   come with a later one than it has proved to have, or has many that it has not come with
 */
export async function renewWorker(
  app: App,
  { worker_id, key_sha256 }: { worker_id: string; key_sha256: string },
  public_key: Uint8Array,
): Promise<Omit<Enrolled, 'proof'>> {
  if (!ed25519Key(public_key)) throw new Failure('forbidden', NO_KEY);
  const { certificate, roots, not_after_ms } = await makeWorkerLeaf(app, worker_id, public_key);
  const caller = systemCaller(app.newId(), 'renew-worker');
  caller.record.outcome.resource_id = worker_id;
  await app.commit(caller, [
    requireKey(worker_id, key_sha256),
    deleteUnusedKeys({ worker_id, key_sha256 }, not_after_ms - UNUSED_MS),
    insertNextKey({ key_sha256: keyHash(public_key), worker_id, not_after_ms }, MOST_KEYS),
  ]);
  return { worker_id, certificate, roots };
}

/**
 * Says whose key it is that somebody has proved to have, and forgets the ones that it follows.
 *
 * @returns undefined for a key that is not known, or not any more
 */
export async function findWorkerOfKey(
  app: App,
  subjectPublicKeyInfo: Uint8Array,
): Promise<string | undefined> {
  const key = await findKey(app.db, keyHash(subjectPublicKeyInfo));
  if (!key || key.not_after_ms <= app.now()) return undefined;
  const { worker_id } = key;
  await app.store.commit([deleteOlderKeys(key)]);
  return worker_id;
}
