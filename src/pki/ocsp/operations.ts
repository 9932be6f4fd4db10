import { hash } from 'node:crypto';
import { signInTurn } from '../../access/concurrency/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Freshness } from '../../app/result.ts';
import { Failure } from '../../core/failure.ts';
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
import { findCertificate } from '../certificates/store.ts';
import { type CrlConfig, crlDurations } from '../crl/config.ts';
import { classIdOf } from '../crl/issuer-class.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { signWith, signWithKey } from '../keys/signing.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation, type Revocation } from '../mount-state/revocations.store.ts';
import { findIssuer, type MountState } from '../mount-state/state.ts';
import { requireDelegate } from './delegate.operations.ts';
import { type KeptAnswer, KeptAnswers } from './kept-answers.ts';
import { chooseResponder, type Responder } from './responder.ts';

/** A signed answer, and how long it is good for; undefined: for nobody but the one who asked. */
export interface OcspAnswer {
  body: Uint8Array;
  freshness: Freshness | undefined;
}

/** Why there is no signed answer. */
export type OcspError = Exclude<keyof typeof OCSP_ERRORS, 'sigRequired'>;

/**
 * Answers one request (RFC 6960 §2). Never throws for what a client sends.
 *
 * @returns a signed answer, or why there is none
 */
export async function respond(
  app: App,
  caller: Caller,
  der: Uint8Array,
): Promise<OcspAnswer | OcspError> {
  try {
    const mount_id = caller.mount.id;
    // Read before the state that answers are made from: after a change, answers go into another cache.
    const answers = await readKept(app);
    const config = await readCrlConfig(app, mount_id);
    if (config.ocsp_disable) return 'unauthorized';
    const mountState = await readMountState(app, mount_id);
    const now = Math.floor(app.now() / 1000);
    const known = answers.find(mount_id, der, now);
    if (known && (await isStillSo(app, mount_id, known))) return answerOf(known, now);
    const request = parseOcspRequest(der);
    const serial = formatSerial(request.certId.serialNumber);
    // Counted before the row is read: what is written meanwhile makes it be read again.
    const { writes } = revocationsOf(app);
    const revocation = await findRevocation(app.db, mount_id, serial);
    const chosen = chooseIssuer({ mountState, revocation, request });
    if (!chosen) return 'unauthorized';
    const responder = await withStatusOfUnissued(app, mount_id, {
      chosen,
      config,
      serial,
      issuers: mountState.issuers,
    });
    const signed = await signResponse(app, caller, { request, responder, config, now });
    if (request.nonce) return { body: signed.body, freshness: undefined };
    const tag = hash('sha256', signed.body, 'base64url');
    const answer = { serial, revocation, writes, signed_at: now, tag, ...signed };
    answers.keep(mount_id, der, answer, crlDurations(config).ocsp_expiry);
    return answerOf(answer, now);
  } catch (error) {
    const kind = error instanceof Failure ? error.kind : undefined;
    if (kind === 'invalid') return 'malformedRequest';
    if (kind === 'unavailable' || kind === 'rate_limited') return 'tryLater';
    app.log.error({ err: error }, 'an OCSP request failed');
    return 'internalError';
  }
}

function answerOf({ body, signed_at, until, tag }: KeptAnswer, now: number): OcspAnswer {
  const freshness = until === undefined ? undefined : { since: signed_at, now, until, tag };
  return { body, freshness };
}

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
  const { mountState } = asked;
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
  const revocation =
    asked.revocation ??
    revokedAuthorities(mountState)
      .get(formatSerial(certId.serialNumber))
      ?.find(({ issuer_id }) => isAskedAbout(issuer_id));
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

/**
 * Revoked issuers that another one of the mount signed, by serial number: their certificates may be stored nowhere
 * else. Of different authorities elsewhere some may have the same.
 */
const revokedAuthorities = memoizeWeak(({ issuers }: MountState): Map<string, Revocation[]> => {
  const revoked = [...issuers.values()].flatMap(
    ({ certificate: { serial }, signed_by: issuer_id, revoked_at_ms }): Revocation[] =>
      revoked_at_ms === undefined || issuer_id === ''
        ? []
        : [{ serial, issuer_id, revoked_at_ms, reason: 0 }],
  );
  return Map.groupBy(revoked, ({ serial }) => serial);
});

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

/** What was never issued, where the mount tells it from what was. Issuers are not among stored certificates where they were imported. */
async function withStatusOfUnissued(
  app: App,
  mount_id: string,
  asked: { chosen: Chosen; config: CrlConfig; serial: string; issuers: MountState['issuers'] },
): Promise<Chosen> {
  const { chosen, config, serial, issuers } = asked;
  if (config.ocsp_unissued_status === 'good' || chosen.status.status !== 'good') return chosen;
  const isIssuer = [...issuers.values()].some(({ certificate }) => certificate.serial === serial);
  if (isIssuer || (await findCertificate(app.db, mount_id, serial))) return chosen;
  return { ...chosen, status: { status: 'unknown' } };
}

interface AnswerParts {
  request: OcspRequest;
  responder: Chosen;
  config: CrlConfig;
  /** Unix seconds. */
  now: number;
}

async function signResponse(
  app: App,
  caller: Caller,
  parts: AnswerParts,
): Promise<Pick<KeptAnswer, 'body' | 'until'>> {
  const { responder, config, now } = parts;
  const { issuer, key } = responder;
  const { ocsp_expiry } = crlDurations(config);
  // Nobody takes a certificate of an issuer that has ended, nor what its responder says.
  if (!config.ocsp_delegated_responder || now >= issuer.certificate.notAfter) {
    const until = ocsp_expiry > 0 ? now + ocsp_expiry : undefined;
    const data = encodeData(parts, issuer.certificate.subject, until);
    const algorithm = responseAlgorithm(issuer, key);
    const signature = await signInTurn(app, caller, key, () =>
      signWithKey(app, caller.mount.id, key, algorithm, data),
    );
    return { body: assembleOcspResponse(data, algorithm, signature), until };
  }
  const delegate = await requireDelegate(app, caller, { issuer, key, ocsp_expiry, now });
  const { description, private_key } = delegate;
  const until = ocsp_expiry > 0 ? Math.min(now + ocsp_expiry, delegate.not_after) : undefined;
  const data = encodeData(parts, delegate.subject, until);
  const algorithm = chooseSignatureAlgorithm(description);
  const signature = await signInTurn(app, caller, description, async () =>
    signWith(private_key, description, algorithm, data),
  );
  return { body: assembleOcspResponse(data, algorithm, signature, delegate.certificate), until };
}

function encodeData(
  { request, responder, now }: AnswerParts,
  name: Uint8Array,
  until: number | undefined,
): Uint8Array {
  return encodeResponseData({
    responder: name,
    producedAt: now,
    certId: request.certId.raw,
    status: responder.status,
    thisUpdate: now,
    ...(until === undefined ? {} : { nextUpdate: until }),
    ...(request.nonce ? { nonce: request.nonce } : {}),
  });
}

/** Many OCSP clients cannot verify PSS, so CRLs may use it and answers do not. */
function responseAlgorithm(issuer: Issuer, key: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  return own === '' ? chooseSignatureAlgorithm(key) : withoutPss(own);
}
