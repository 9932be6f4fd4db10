import { hash } from 'node:crypto';
import { callerTold, type ToldCaller, toldOf } from '../../access/system-caller.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import type { Freshness } from '../../app/result.ts';
import { isOfCluster } from '../../core/clusters.ts';
import { Failure } from '../../core/failure.ts';
import { Lines } from '../../core/fairness/line.ts';
import { type OCSP_ERRORS, parseOcspRequest } from '../../x509/ocsp.ts';
import { formatSerial } from '../../x509/serial.ts';
import { isLong } from '../../x509/signature-costs.ts';
import { findCertificate } from '../certificates/store.ts';
import { type CrlConfig, crlDurations } from '../crl/config.ts';
import { ALL } from '../crl/kind.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation, type Revocation } from '../mount-state/revocations.store.ts';
import type { MountState } from '../mount-state/state.ts';
import { chooseIssuer } from './chosen-issuer.ts';
import { type KeptHere, readKept } from './keeping.operations.ts';
import type { FoundAnswer, KeptAnswer } from './kept-answers.ts';
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

const placeOf = ({ mount_id, of }: Sight, { era }: KeptHere): string => `${era}/${mount_id}/${of}`;

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
    // Read before the state that answers are made from: after a change, answers have another place.
    const kept = await readKept(app);
    const { answers } = kept;
    const config = await readCrlConfig(app, mount_id);
    if (config.ocsp_disable || (unified && !config.unified_crl)) return 'unauthorized';
    const of = unified || config.unified_crl_on_existing_paths ? ALL : app.config.cluster_name;
    const sight = { mount_id, of };
    const mountState = await readMountState(app, mount_id);
    const now = Math.floor(app.now() / 1000);
    const place = placeOf(sight, kept);
    const known = answers.find(place, der, now);
    if (known && (await isStillSo(app, sight, known, kept))) return answerOf(known, now);
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
      const long = { ...about, sight, parts, kept };
      const ready = await findLong(app, long);
      if (ready) return answerOf(ready, now);
      if (oneForAll(app).ask) {
        return await respondInOnePlace(app, { caller: toldOf(caller), der, unified });
      }
      return answerOf(await answerOnce(app, caller, long), now);
    }
    const signed = await signResponse(app, caller, parts);
    if (request.nonce) return { body: signed.body, freshness: undefined };
    const answer = { ...about, tag: tagOf(signed.body), ...signed };
    answers.keep(place, der, answer, crlDurations(config).ocsp_expiry);
    return answerOf(answer, now);
  } catch (error) {
    const kind = error instanceof Failure ? error.kind : undefined;
    if (kind === 'invalid') return 'malformedRequest';
    if (kind === 'unavailable' || kind === 'rate_limited') return 'tryLater';
    app.log.error({ err: error }, 'an OCSP request failed');
    return 'internalError';
  }
}

/** What takes long to sign is signed for all threads by one. */
const respondInOnePlace = inOnePlace(
  'pki/ocsp/respond',
  (app, asked: { caller: ToldCaller; der: Uint8Array; unified: boolean }) => {
    const { caller, der, unified } = asked;
    return respond(app, callerTold(app.newId(), 'ocsp/respond', caller), der, { unified });
  },
);

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
function answerOnce(app: App, caller: Caller, long: LongAnswer): Promise<KeptAnswer> {
  const { parts, sight, kept: here, ...about } = long;
  const place = placeOf(sight, here);
  const { request, config } = parts;
  const { raw } = request.certId;
  const line = `${place}/${Buffer.from(raw).toString('base64')}`;
  return longAnswersOf(app).wait(line, async () => {
    const known = await findLong(app, long);
    if (known) return known;
    const { nonce: _, ...asked } = request;
    const signed = await signResponse(app, caller, { ...parts, request: asked });
    const { ocsp_expiry } = crlDurations(config);
    const keeps = Math.floor(ocsp_expiry * KEPT_PART);
    const kept = { ...about, ...signed, tag: tagOf(signed.body), keeps };
    here.answers.keep(place, raw, kept, ocsp_expiry);
    return kept;
  });
}

type LongAnswer = Pick<KeptAnswer, 'serial' | 'revocation' | 'writes' | 'signed_at'> & {
  parts: AnswerParts;
  sight: Sight;
  kept: KeptHere;
};

async function findLong(
  app: App,
  { parts, sight, kept }: LongAnswer,
): Promise<KeptAnswer | undefined> {
  const { request, now } = parts;
  const known = kept.answers.find(placeOf(sight, kept), request.certId.raw, now);
  return known && (await isStillSo(app, sight, known, kept)) ? known : undefined;
}

const longAnswersOf = perApp(() => new Lines());

/**
 * Whether the certificate's revocation is what it was when the answer was signed. Its row is read for
 * that, except on SQLite while none was written since: every write passes through this process, and
 * is counted before it is acknowledged.
 */
async function isStillSo(
  app: App,
  sight: Sight,
  known: FoundAnswer,
  { answers }: KeptHere,
): Promise<boolean> {
  const writes = revocationWrites(app);
  if (app.store.engine === 'sqlite' && known.writes === writes) return true;
  const { revocation } = known;
  const current = await findSeen(app, sight, known.serial);
  const isSame =
    current?.revoked_at_ms === revocation?.revoked_at_ms &&
    current?.reason === revocation?.reason &&
    current?.issuer_id === revocation?.issuer_id;
  if (isSame) answers.confirm(known, writes);
  return isSame;
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
