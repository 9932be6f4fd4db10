import { type App, perApp } from '../../app/app.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { type Failure, isConflict } from '../../core/failure.ts';
import {
  chooseSignatureAlgorithm,
  isSignatureAlgorithm,
  type SignatureAlgorithm,
} from '../../x509/algorithms.ts';
import { encodeCrlFrame } from '../../x509/crl.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { readMountState } from '../mount-state/operations.ts';
import {
  type RevocationState,
  readRevocationState,
  touchCrls,
} from '../mount-state/revocations.store.ts';
import type { MountState } from '../mount-state/state.ts';
import type { CrlInput, CrlJob } from './builder/job.ts';
import { makeSignedCrl, remakeSignedCrl } from './builder/operations.ts';
import { CrlCache } from './cache.ts';
import { type CrlConfig, crlDurations } from './config.ts';
import { crlFingerprint, type IssuerClass, planClass, planScope } from './issuer-class.ts';
import { readCrlConfig } from './settings.operations.ts';
import { findCrl, type StoredCrl, saveCrl } from './store.ts';

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

/** A CRL of one scope only grows: once too long, it is refused again without reading the revocations. */
interface TooLong {
  scope: string;
  max_entries: number;
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

export const placeOf = (mount_id: string, { id }: IssuerClass): string => `${mount_id}/${id}`;

/** What a CRL has to be built from at this moment. */
export interface CrlContext {
  issuers: IssuerClass;
  config: CrlConfig;
  state: RevocationState;
  /** See `CrlScope`. */
  scope: string;
}

/** @returns undefined when the class has no issuer any more */
export async function readCrlContext(
  app: App,
  mount_id: string,
  { members }: IssuerClass,
): Promise<CrlContext | undefined> {
  const mountState: MountState = await readMountState(app, mount_id);
  const config = await readCrlConfig(app, mount_id);
  const state = await readRevocationState(app.db, mount_id);
  const member = members.find(({ id }) => mountState.issuers.has(id));
  const issuer = member && mountState.issuers.get(member.id);
  if (!issuer) return undefined;
  const issuers = planClass(mountState, issuer);
  const scope = planScope(mountState, issuers, { epoch: state.epoch, disable: config.disable });
  return { issuers, config, state, scope };
}

/** Builds, signs and publishes one complete CRL (RFC 5280 §5). */
export async function buildCrl(app: App, mount_id: string, context: CrlContext): Promise<void> {
  const { issuers, config, scope } = context;
  if (!issuers.signer) return;
  const { issuer, key } = issuers.signer;
  const place = placeOf(mount_id, issuers);
  const { cache, durations } = crlMemory(app);
  const began = performance.now();
  const previous = await findCrl(app.db, mount_id, issuers.id);
  // What is revoked from here on is on the next CRL.
  const { revision } = await readRevocationState(app.db, mount_id);
  const content: CrlInput = { mount_id, scope, revision };
  const algorithm = chooseCrlAlgorithm(issuer, key);
  const now_ms = app.now();
  const this_update = Math.floor(now_ms / 1000);
  const next_update = this_update + crlDurations(config).expiry;
  // By the clock, so that a server restored from a backup never repeats a number it has
  // given out since; by the last number, should the clock have gone back.
  const number = Math.max((previous?.number ?? 0) + 1, now_ms);
  const frame = encodeCrlFrame({
    issuer: issuer.certificate.subject,
    signatureAlgorithm: algorithm,
    thisUpdate: this_update,
    nextUpdate: next_update,
    crlNumber: BigInt(number),
    authorityKeyId: issuer.certificate.subjectKeyId ?? keyIdentifier(key.public_key),
  });
  const { max_crl_entries: max_entries } = config;
  const job = { content, basis: cache.findAny(place), frame, algorithm, max_entries };
  const { crl, signature } = await refusingLong(app, place, job, () =>
    makeSignedCrl(app, job, { mount_id, key }),
  );
  // Not the time when it was begun: until now readers were given the one before.
  const modified_at_ms = app.now();
  const published: StoredCrl = {
    number,
    revision,
    base: crlFingerprint(issuers, scope, config.expiry),
    this_update,
    next_update,
    modified_at_ms,
    scope,
    before_entries: frame.before,
    after_entries: frame.after,
    algorithm,
    signature,
  };
  durations.set(place, performance.now() - began);
  try {
    await app.store.commit([
      saveCrl({ mount_id, class: issuers.id, ...published }),
      touchCrls(mount_id, modified_at_ms),
    ]);
    cache.put(place, number, { ...content, crl });
  } catch (error) {
    // Another node was quicker; whether its CRL suffices is looked at by whoever waits.
    if (!isConflict(error)) throw error;
  }
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
  if (known?.scope === scope && known.max_entries === max_entries) throw known.refusal;
  try {
    return await make();
  } catch (error) {
    const isLong = isConflict(error);
    if (isLong) too_long.set(place, { scope, max_entries, refusal: error });
    throw error;
  }
}

/** Most CRLs that something is remembered of: issuers that are removed leave their entries behind. */
const MOST_PLACES = 1000;

/** Makes a CRL again that this server has not in memory: from before its start, or of another node. */
export async function fetchCrl(
  app: App,
  mount_id: string,
  context: CrlContext,
  stored: StoredCrl,
): Promise<void> {
  const { issuers } = context;
  const place = placeOf(mount_id, issuers);
  const { cache } = crlMemory(app);
  const { number, revision, scope, before_entries, after_entries, signature } = stored;
  const [member] = issuers.members;
  const algorithm = isSignatureAlgorithm(stored.algorithm) ? stored.algorithm : undefined;
  const content: CrlInput = { mount_id, scope, revision };
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
  await buildCrl(app, mount_id, context);
}

function chooseCrlAlgorithm(issuer: Issuer, { key_type, key_bits }: Key): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  if (own !== '') return own;
  const stored = issuer.certificate.signatureAlgorithm;
  return chooseSignatureAlgorithm({
    key_type,
    key_bits,
    use_pss: key_type === 'rsa' && (stored?.endsWith('PSS') ?? false),
  });
}
