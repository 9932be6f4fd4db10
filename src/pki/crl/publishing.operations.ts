import { type App, perApp } from '../../app/app.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { type Failure, isConflict } from '../../core/failure.ts';
import type { Write } from '../../store/write.ts';
import { isSignatureAlgorithm } from '../../x509/algorithms.ts';
import { encodeCrlFrame } from '../../x509/crl.ts';
import { freshestCrl, issuingDistributionPoint } from '../../x509/extension-urls.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import {
  readRevocationState,
  touchCrls,
  touchDeltaCrls,
} from '../mount-state/revocations.store.ts';
import { chooseCrlAlgorithm } from './algorithm.ts';
import { type CrlInput, type CrlJob, planPast } from './builder/job.ts';
import { makeSignedCrl, remakeSignedCrl } from './builder/operations.ts';
import { CrlCache } from './cache.ts';
import { crlDurations } from './config.ts';
import { type CrlContext, placeOf } from './context.operations.ts';
import { completeOf, crlName } from './kind.ts';
import { findCrl, type StoredCrl, saveCrl, takeNumber } from './store.ts';

/** What one server remembers of the CRLs of all its mounts. */
interface CrlMemory {
  /** Being built or fetched now, so that everybody who waits for one waits for the same. */
  running: Map<string, Promise<void>>;
  /** The last of each class; checked against the stored number at each use. */
  cache: CrlCache;
  /** Waiting for a moment's quiet before they are built. */
  scheduled: Map<string, NodeJS.Timeout>;
  /** How long the last one took to build, in milliseconds. */
  durations: Map<string, number>;
  /** By place, the last one that had too many entries. */
  too_long: Map<string, TooLong>;
}

/** Once too long, a CRL is refused for a while without reading the revocations again. */
interface TooLong {
  scope: string;
  max_entries: number;
  since_ms: number;
  refusal: Failure;
}

export const crlMemory = perApp<CrlMemory>((app) => {
  const scheduled = new Map<string, NodeJS.Timeout>();
  const too_long = new BoundedMap<TooLong>(MOST_PLACES);
  app.barrier.onSeal(() => too_long.clear());
  app.onClose(() => {
    for (const timer of scheduled.values()) clearTimeout(timer);
  });
  return {
    running: new Map(),
    cache: new CrlCache(),
    scheduled,
    durations: new BoundedMap(MOST_PLACES),
    too_long,
  };
});

/** Builds, signs and publishes one CRL (RFC 5280 §5). */
export async function buildCrl(app: App, context: CrlContext): Promise<void> {
  const { mount_id, issuers, complete, config, scope } = context;
  if (!issuers.signer) return;
  const { issuer, key } = issuers.signer;
  const place = placeOf(context);
  const { cache, durations } = crlMemory(app);
  const began = performance.now();
  const previous = await findCrl(app.db, mount_id, crlName(issuers.id, context.kind));
  const revision = await chooseRevision(app, context);
  const past = complete ? undefined : planPast(previous && inputOf(mount_id, previous), scope);
  const content: CrlInput = { mount_id, scope, revision, ...(past && { past }) };
  const algorithm = chooseCrlAlgorithm(issuer, key);
  const now_ms = app.now();
  const { this_update, next_update } = planValidity(context, now_ms);
  const number = planNumber(complete ?? previous, now_ms);
  const freshest = freshestCrl(context.freshest);
  const { points } = context;
  const extensions = [
    ...(points.length > 0 ? [issuingDistributionPoint(points)] : []),
    ...(freshest ? [freshest] : []),
  ];
  const frame = encodeCrlFrame({
    issuer: issuer.certificate.subject,
    signatureAlgorithm: algorithm,
    thisUpdate: this_update,
    nextUpdate: next_update,
    crlNumber: BigInt(number),
    authorityKeyId: issuer.certificate.subjectKeyId ?? keyIdentifier(key.public_key),
    ...(complete && { deltaBase: BigInt(complete.number) }),
    extensions,
  });
  const { max_crl_entries: max_entries } = config;
  const job = { content, basis: cache.findAny(place), frame, algorithm, max_entries };
  const { crl, signature } = await refusingLong(app, place, job, () =>
    makeSignedCrl(app, job, { mount_id, key }),
  );
  // Not the time when it was begun: until now readers were given the one before.
  const modified_at_ms = app.now();
  durations.set(place, performance.now() - began);
  const published: StoredCrl = {
    number,
    last_number: number,
    revision,
    base: context.fingerprint,
    this_update,
    next_update,
    modified_at_ms,
    scope,
    before_entries: frame.before,
    after_entries: frame.after,
    algorithm,
    signature,
    entries: crl.count,
    ended_before: past?.ended_before ?? 0,
    ended_revision: past?.revision ?? 0,
  };
  try {
    await app.store.commit(planPublishing(context, published));
    cache.put(place, number, { ...content, crl });
  } catch (error) {
    // Another node was quicker; whether its CRL suffices is looked at by whoever waits.
    if (!isConflict(error)) throw error;
  }
}

/** What a stored CRL was made of, and when. */
function inputOf(mount_id: string, stored: StoredCrl): CrlInput & { this_update: number } {
  const { scope, revision, ended_before, ended_revision, this_update } = stored;
  return {
    mount_id,
    scope,
    revision,
    past: { ended_before, revision: ended_revision },
    this_update,
  };
}

/** What is revoked later is on the next CRL. While there are no deltas, theirs are as old as the complete one. */
async function chooseRevision(app: App, context: CrlContext): Promise<number> {
  const { mount_id, complete, config } = context;
  if (complete && !config.enable_delta) return complete.revision;
  return (await readRevocationState(app.db, mount_id)).revision;
}

/** Of a delta that says nothing since there are none, that of the complete one: it is not newer. */
function planValidity(
  { complete, config }: CrlContext,
  now_ms: number,
): Pick<StoredCrl, 'this_update' | 'next_update'> {
  if (complete && !config.enable_delta) return complete;
  const this_update = Math.floor(now_ms / 1000);
  return { this_update, next_update: this_update + crlDurations(config).expiry };
}

/**
 * By the clock, so that a server restored from a backup never repeats a number it has given out since; by the last
 * number, should the clock have gone back.
 */
function planNumber(counter: StoredCrl | undefined, now_ms: number): number {
  return Math.max((counter?.last_number ?? 0) + 1, now_ms);
}

function planPublishing(context: CrlContext, published: StoredCrl): Write[] {
  const { mount_id, issuers, kind, complete } = context;
  const { number, modified_at_ms } = published;
  const save = saveCrl({ mount_id, class: crlName(issuers.id, kind), ...published });
  // The addresses of a shard show nothing else.
  if (kind.shard) return [save];
  if (!complete) return [save, touchCrls(mount_id, modified_at_ms)];
  const counter = crlName(issuers.id, completeOf(kind));
  return [
    takeNumber({ mount_id, class: counter, base: complete.number, number }),
    save,
    touchDeltaCrls(mount_id, modified_at_ms),
  ];
}

/**
 * Makes a CRL unless it is known to have too many entries: everybody may ask for it, and to find out
 * takes as long as to make it.
 *
 * @throws Failure `conflict` for a CRL longer than it may be
 */
async function refusingLong<Made>(
  app: App,
  place: string,
  { content: { scope }, max_entries }: CrlJob,
  make: () => Promise<Made>,
): Promise<Made> {
  const { too_long } = crlMemory(app);
  const known = too_long.get(place);
  const now_ms = app.now();
  const isKnown = known?.scope === scope && known.max_entries === max_entries;
  if (isKnown && Math.abs(now_ms - known.since_ms) < LONG_MS) throw known.refusal;
  try {
    const made = await make();
    too_long.delete(place);
    return made;
  } catch (error) {
    const isLong = isConflict(error);
    if (isLong) too_long.set(place, { scope, max_entries, since_ms: now_ms, refusal: error });
    throw error;
  }
}

/** Entries leave a CRL with time: after so long it may have room again. */
const LONG_MS = 600_000;

/** CRLs that this server did not build, as they would have had too many entries. */
export const countLongCrls = (app: App): number => crlMemory(app).too_long.size;

/** Most CRLs that something is remembered of: issuers that are removed leave their entries behind. */
const MOST_PLACES = 1000;

/** Makes a CRL again that this server has not in memory: from before its start, or of another node. */
export async function fetchCrl(app: App, context: CrlContext, stored: StoredCrl): Promise<void> {
  const { mount_id, issuers } = context;
  const place = placeOf(context);
  const { cache } = crlMemory(app);
  const { number, before_entries, after_entries, signature } = stored;
  const [member] = issuers.members;
  const algorithm = isSignatureAlgorithm(stored.algorithm) ? stored.algorithm : undefined;
  const content = inputOf(mount_id, stored);
  const crl =
    member &&
    algorithm &&
    (await remakeSignedCrl(
      app,
      {
        content,
        basis: cache.findAny(place),
        frame: { before: before_entries, after: after_entries },
        algorithm,
        max_entries: -1,
      },
      { signature, public_key: member.certificate.subjectPublicKeyInfo },
    ));
  if (crl) {
    cache.put(place, number, { ...content, crl });
    return;
  }
  // It was made of revocations that are not there any more.
  app.log.warn({ number }, 'a stored CRL cannot be made again');
  await buildCrl(app, context);
}
