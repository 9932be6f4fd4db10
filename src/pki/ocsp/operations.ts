import { hash } from 'node:crypto';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Freshness } from '../../app/result.ts';
import { isOfCluster } from '../../core/clusters.ts';
import { Failure } from '../../core/failure.ts';
import { Lines } from '../../core/fairness/line.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import {
  certIdHashes,
  type OCSP_ERRORS,
  type OcspHash,
  type OcspRequest,
  parseOcspRequest,
} from '../../x509/ocsp.ts';
import { formatSerial } from '../../x509/serial.ts';
import { isLong } from '../../x509/signature-costs.ts';
import { findCertificate } from '../certificates/store.ts';
import { type CrlConfig, crlDurations } from '../crl/config.ts';
import { classIdOf } from '../crl/issuer-class.ts';
import { ALL } from '../crl/kind.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { isRoot } from '../mount-state/chain.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation, type Revocation } from '../mount-state/revocations.store.ts';
import { findIssuer, type MountState } from '../mount-state/state.ts';
import { type KeptAnswer, KeptAnswers } from './kept-answers.ts';
import { chooseResponder, type Responder } from './responder.ts';
import { revocationWrites } from './revocation-writes.operations.ts';
import { type AnswerParts, type Chosen, isDelegated, signResponse } from './signing.operations.ts';

/** A signed answer, and how long it is good for; undefined: for nobody but the one who asked. */
export interface OcspAnswer {
  body: Uint8Array;
  freshness: Freshness | undefined;
}

/** Whose revocations an answer tells: those of one cluster, or of {@link ALL}. */
interface Sight {
  mount_id: string;
  of: string;
}

const placeOf = ({ mount_id, of }: Sight): string => `${mount_id}/${of}`;

/** @see P-479 */
async function findSeen(
  app: App,
  { mount_id, of }: Sight,
  serial: string,
): Promise<Revocation | undefined> {
  const found = await findRevocation(app.db, mount_id, serial);
  return found && (of === ALL || isOfCluster(found.clusters, of)) ? found : undefined;
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
  { unified }: { unified: boolean },
): Promise<OcspAnswer | OcspError> {
  try {
    const mount_id = caller.mount.id;
    // Read before the state that answers are made from: after a change, answers go into another cache.
    const answers = await readKept(app);
    const config = await readCrlConfig(app, mount_id);
    if (config.ocsp_disable || (unified && !config.unified_crl)) return 'unauthorized';
    const of = unified || config.unified_crl_on_existing_paths ? ALL : app.config.cluster_name;
    const sight = { mount_id, of };
    const mountState = await readMountState(app, mount_id);
    const now = Math.floor(app.now() / 1000);
    const known = answers.find(placeOf(sight), der, now);
    if (known && (await isStillSo(app, sight, known))) return answerOf(known, now);
    const request = parseOcspRequest(der);
    const serial = formatSerial(request.certId.serialNumber);
    // Counted before the row is read: what is written meanwhile makes it be read again.
    const writes = revocationWrites(app);
    const revocation = await findSeen(app, sight, serial);
    const chosen = chooseIssuer({ mountState, revocation, request });
    if (!chosen) return 'unauthorized';
    const responder = await withStatusOfUnissued(app, mount_id, {
      chosen,
      config,
      serial,
      issuers: mountState.issuers,
    });
    const parts = { request, responder, config, now };
    const about = { serial, revocation, writes, signed_at: now };
    if (isLong(responder.key) && !isDelegated(parts)) {
      return answerOf(await answerOnce(app, caller, answers, { ...about, sight, parts }), now);
    }
    const signed = await signResponse(app, caller, parts);
    if (request.nonce) return { body: signed.body, freshness: undefined };
    const answer = { ...about, tag: tagOf(signed.body), ...signed };
    answers.keep(placeOf(sight), der, answer, crlDurations(config).ocsp_expiry);
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

const tagOf = (body: Uint8Array): string => hash('sha256', body, 'base64url');

/** Of an answer that takes long to sign, the part of its validity for which it is kept. */
const KEPT_PART = 1 / 8;

/**
 * An answer that takes up to a second to sign is signed once for everybody who asks about the certificate, and
 * serves them for a while: it has no nonce, whoever asked for one (RFC 9654 §2.1 leaves that to the responder).
 *
 * @see P-461
 */
function answerOnce(
  app: App,
  caller: Caller,
  answers: KeptAnswers,
  { parts, sight, ...about }: LongAnswer,
): Promise<KeptAnswer> {
  const place = placeOf(sight);
  const { request, config, now } = parts;
  const { raw } = request.certId;
  const line = `${place}/${Buffer.from(raw).toString('base64')}`;
  return longAnswersOf(app).wait(line, async () => {
    const known = answers.find(place, raw, now);
    if (known && (await isStillSo(app, sight, known))) return known;
    const { nonce: _, ...asked } = request;
    const signed = await signResponse(app, caller, { ...parts, request: asked });
    const { ocsp_expiry } = crlDurations(config);
    const keeps = Math.floor(ocsp_expiry * KEPT_PART);
    const kept = { ...about, ...signed, tag: tagOf(signed.body), keeps };
    answers.keep(place, raw, kept, ocsp_expiry);
    return kept;
  });
}

type LongAnswer = Pick<KeptAnswer, 'serial' | 'revocation' | 'writes' | 'signed_at'> & {
  parts: AnswerParts;
  sight: Sight;
};

const longAnswersOf = perApp(() => new Lines());

/** Signed answers kept by one server: some eight thousand of P-256, fewer of longer signatures. */
function readKept(app: App): Soon<KeptAnswers> {
  return app.cached('pki/ocsp-answers', async () => new KeptAnswers(ROOMS.ocsp_answers));
}

/**
 * Whether the certificate's revocation is what it was when the answer was signed. Its row is read for
 * that, except on SQLite while none was written since: every write passes through this process, and
 * is counted before it is acknowledged.
 */
async function isStillSo(app: App, sight: Sight, known: KeptAnswer): Promise<boolean> {
  const writes = revocationWrites(app);
  if (app.store.engine === 'sqlite' && known.writes === writes) return true;
  const { revocation } = known;
  const current = await findSeen(app, sight, known.serial);
  const isSame =
    current?.revoked_at_ms === revocation?.revoked_at_ms &&
    current?.reason === revocation?.reason &&
    current?.issuer_id === revocation?.issuer_id;
  if (isSame) known.writes = writes;
  return isSame;
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
  const known = authoritiesOf(mountState).get(formatSerial(certId.serialNumber)) ?? [];
  const authority = known.find(({ signers }) => signers.some(isAskedAbout));
  const revoker = asked.revocation && representativeOf(mountState, asked.revocation.issuer_id);
  // What another issuer revoked is not this one's: but for authorities that are certified by both, a serial number is
  // unique in its mount.
  const isOthers = revoker !== undefined && !isAskedAbout(revoker);
  const revocation = isOthers ? authority?.revoked : (asked.revocation ?? authority?.revoked);
  const isUnknown = isOthers && authority === undefined;
  const candidates = [...mountState.issuers.values()].flatMap((issuer): Responder[] => {
    const key = mountState.keys.get(issuer.key_id);
    return key ? [{ issuer, key, matches: !isUnknown && isAskedAbout(issuer.id) }] : [];
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

/** The certificate of an issuer: who of the mount signed it, and whether it is revoked. */
interface Authority {
  /** Ids. */
  signers: readonly string[];
  revoked: Pick<Revocation, 'revoked_at_ms' | 'reason'> | undefined;
}

/**
 * Issuers that one of the mount signed, itself included, by serial number: their certificates may be stored nowhere else.
 * Of different authorities some may have the same, as one has that another has signed as it signed itself.
 *
 * @see P-337
 */
const authoritiesOf = memoizeWeak(({ issuers }: MountState): Map<string, Authority[]> => {
  const known = [...issuers.values()].flatMap(
    ({ id, certificate, signed_by, revoked_at_ms, revocation_reason: reason }) => {
      // A revoked root is on no list of its own.
      const isOwn = isRoot(certificate);
      if (!isOwn && signed_by === '') return [];
      const isListed = revoked_at_ms !== undefined && !isOwn;
      const revoked = isListed ? { revoked_at_ms, reason } : undefined;
      return [{ serial: certificate.serial, signers: [isOwn ? id : signed_by], revoked }];
    },
  );
  return Map.groupBy(known, ({ serial }) => serial);
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
