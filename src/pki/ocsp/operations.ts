import { signInTurn } from '../../access/concurrency/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { Lines } from '../../core/fairness/line.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import {
  chooseSignatureAlgorithm,
  type SignatureAlgorithm,
  withoutPss,
} from '../../x509/algorithms.ts';
import {
  assembleOcspResponse,
  certIdHashes,
  encodeResponseData,
  type OCSP_ERRORS,
  type OcspHash,
  type OcspRequest,
  type OcspStatus,
  parseOcspRequest,
} from '../../x509/ocsp.ts';
import { formatSerial } from '../../x509/serial.ts';
import { isLong } from '../../x509/signature-costs.ts';
import { crlDurations } from '../crl/config.ts';
import { classIdOf } from '../crl/issuer-class.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { signWithKey } from '../keys/signing.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation, type Revocation } from '../mount-state/revocations.store.ts';
import { findIssuer, type MountState } from '../mount-state/state.ts';
import { type KeptAnswer, KeptAnswers } from './kept-answers.ts';
import { chooseResponder, type Responder } from './responder.ts';

/** Why there is no signed answer. */
export type OcspError = Exclude<keyof typeof OCSP_ERRORS, 'sigRequired'>;

/**
 * Answers one request (RFC 6960 §2). Never throws for what a client sends.
 *
 * @returns a signed answer, DER, or why there is none
 */
export async function respond(
  app: App,
  caller: Caller,
  der: Uint8Array,
): Promise<Uint8Array | OcspError> {
  try {
    const mount_id = caller.mount.id;
    // Read before the state that answers are made from: after a change, answers go into another cache.
    const answers = await readKept(app);
    const config = await readCrlConfig(app, mount_id);
    if (config.ocsp_disable) return 'unauthorized';
    const mountState = await readMountState(app, mount_id);
    const now = Math.floor(app.now() / 1000);
    const known = answers.find(mount_id, der, now);
    if (known && (await isStillSo(app, mount_id, known))) return known.body;
    const request = parseOcspRequest(der);
    const serial = formatSerial(request.certId.serialNumber);
    // Counted before the row is read: what is written meanwhile makes it be read again.
    const { writes } = revocationsOf(app);
    const revocation = await findRevocation(app.db, mount_id, serial);
    const responder = chooseIssuer({ mountState, revocation, request });
    if (!responder) return 'unauthorized';
    const validity = crlDurations(config).ocsp_expiry;
    if (isLong(responder.key)) {
      const long = { request, responder, validity, now, serial, revocation, writes };
      return await answerOnce(app, caller, answers, long);
    }
    const body = await signInTurn(app, caller, responder.key, () =>
      signResponse(app, mount_id, { request, responder, validity, now }),
    );
    if (!request.nonce) {
      const answer = { serial, revocation, writes, signed_at: now, body };
      answers.keep(mount_id, der, answer, validity);
    }
    return body;
  } catch (error) {
    const kind = error instanceof Failure ? error.kind : undefined;
    if (kind === 'invalid') return 'malformedRequest';
    if (kind === 'unavailable' || kind === 'rate_limited') return 'tryLater';
    app.log.error({ err: error }, 'an OCSP request failed');
    return 'internalError';
  }
}

/** Of an answer that takes long to sign, the part of its validity for which it is kept. */
const KEPT_PART = 1 / 8;

/**
 * An answer that takes up to a second to sign is signed once for everybody who asks about the certificate, and
 * serves them for a while: it has no nonce, whoever asked for one (RFC 9654 §2.1 leaves that to the responder).
 *
 * @see P-461
 */
async function answerOnce(
  app: App,
  caller: Caller,
  answers: KeptAnswers,
  { serial, revocation, writes, request, ...answer }: LongAnswer,
): Promise<Uint8Array> {
  const mount_id = caller.mount.id;
  const { raw } = request.certId;
  const line = `${mount_id}/${Buffer.from(raw).toString('base64')}`;
  return longAnswersOf(app).wait(line, async () => {
    const known = answers.find(mount_id, raw, answer.now);
    if (known && (await isStillSo(app, mount_id, known))) return known.body;
    const { nonce: _, ...asked } = request;
    const body = await signInTurn(app, caller, answer.responder.key, () =>
      signResponse(app, mount_id, { ...answer, request: asked }),
    );
    const keeps = Math.floor(answer.validity * KEPT_PART);
    const kept = { serial, revocation, writes, signed_at: answer.now, body, keeps };
    answers.keep(mount_id, raw, kept, answer.validity);
    return body;
  });
}

interface LongAnswer {
  request: OcspRequest;
  responder: Chosen;
  /** Seconds. */
  validity: number;
  /** Unix seconds. */
  now: number;
  serial: string;
  revocation: Revocation | undefined;
  writes: number;
}

const longAnswersOf = perApp(() => new Lines());

/** Signed answers kept by one server: some eight thousand. */
function readKept(app: App): Soon<KeptAnswers> {
  return app.cached('pki/ocsp-answers', async () => new KeptAnswers(ROOMS.ocsp_answers));
}

/** How many writes of revocations have ended. */
const revocationsOf = perApp((app) => {
  const counted = { writes: 0 };
  app.store.onWrite('pki_revocation', () => {
    counted.writes += 1;
  });
  return counted;
});

/**
 * Whether the certificate's revocation is what it was when the answer was signed. Its row is read for
 * that, except on SQLite while none was written since: every write passes through this process, and
 * is counted before it is acknowledged.
 */
async function isStillSo(app: App, mount_id: string, known: KeptAnswer): Promise<boolean> {
  const { writes } = revocationsOf(app);
  if (app.store.engine === 'sqlite' && known.writes === writes) return true;
  const { revocation } = known;
  const current = await findRevocation(app.db, mount_id, known.serial);
  const isSame =
    current?.revoked_at_ms === revocation?.revoked_at_ms &&
    current?.reason === revocation?.reason &&
    current?.issuer_id === revocation?.issuer_id;
  if (isSame) known.writes = writes;
  return isSame;
}

interface Chosen {
  issuer: Issuer;
  key: Key;
  status: OcspStatus;
}

/** @see P-128, P-129 */
function chooseIssuer(asked: {
  mountState: MountState;
  revocation: Revocation | undefined;
  request: OcspRequest;
}): Chosen | undefined {
  const { mountState, revocation } = asked;
  const { certId } = asked.request;
  const hashes = issuerHashes(mountState, certId.hashAlgorithm);
  const isAskedAbout = (issuer_id: string): boolean => {
    const known = hashes.get(issuer_id);
    return (
      known !== undefined &&
      Buffer.compare(known.issuerNameHash, certId.issuerNameHash) === 0 &&
      Buffer.compare(known.issuerKeyHash, certId.issuerKeyHash) === 0
    );
  };
  // A serial number is unique in its mount: one that another issuer revoked is not this one's.
  const revoker = revocation && representativeOf(mountState, revocation.issuer_id);
  const isOthers = revoker !== undefined && !isAskedAbout(revoker);
  const candidates = [...mountState.issuers.values()].flatMap((issuer): Responder[] => {
    const key = mountState.keys.get(issuer.key_id);
    return key ? [{ issuer, key, matches: !isOthers && isAskedAbout(issuer.id) }] : [];
  });
  const responder = chooseResponder(candidates, findIssuer(mountState, 'default')?.id);
  if (!responder) return undefined;
  const { issuer, key } = responder;
  if (!responder.matches) return { issuer, key, status: { status: 'unknown' } };
  if (!revocation) return { issuer, key, status: { status: 'good' } };
  return {
    issuer,
    key,
    status: {
      status: 'revoked',
      revocationTime: Math.floor(revocation.revoked_at_ms / 1000),
      reason: revocation.reason,
    },
  };
}

/** The issuer, or one that is the same to the world where it is gone; undefined when there is none. */
function representativeOf({ issuers, former }: MountState, id: string): string | undefined {
  if (issuers.has(id)) return id;
  const known = former.get(id);
  if (known === undefined) return undefined;
  return [...issuers.values()].find((issuer) => classIdOf(issuer) === known)?.id;
}

type IssuerHashes = Map<string, ReturnType<typeof certIdHashes>>;

/** Gone with what they were made of. */
const hashesOf = memoizeWeak((_mountState: MountState) => new Map<OcspHash, IssuerHashes>());

function issuerHashes(mountState: MountState, algorithm: OcspHash): IssuerHashes {
  return hashesOf(mountState).getOrInsertComputed(algorithm, () => {
    const hashed = [...mountState.issuers.values()].map(({ id, certificate }) => {
      const { subject, subjectPublicKeyInfo } = certificate;
      return [id, certIdHashes(subject, subjectPublicKeyInfo, algorithm)] as const;
    });
    return new Map(hashed);
  });
}

async function signResponse(
  app: App,
  mount_id: string,
  answer: { request: OcspRequest; responder: Chosen; validity: number; now: number },
): Promise<Uint8Array> {
  const { request, responder, validity, now } = answer;
  const { issuer, key, status } = responder;
  const data = encodeResponseData({
    responder: issuer.certificate.subject,
    producedAt: now,
    certId: request.certId.raw,
    status,
    thisUpdate: now,
    ...(validity > 0 ? { nextUpdate: now + validity } : {}),
    ...(request.nonce ? { nonce: request.nonce } : {}),
  });
  const algorithm = responseAlgorithm(issuer, key);
  return assembleOcspResponse(
    data,
    algorithm,
    await signWithKey(app, mount_id, key, algorithm, data),
  );
}

/** Many OCSP clients cannot verify PSS, so CRLs may use it and answers do not. */
function responseAlgorithm(issuer: Issuer, key: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  return own === '' ? chooseSignatureAlgorithm(key) : withoutPss(own);
}
