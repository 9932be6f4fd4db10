import type { App } from '../../app/app.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { Failure } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { readMountState } from '../mount-state/operations.ts';
import { isDeltaDue, isOld } from './age.ts';
import { type CrlContext, type CrlPlace, placeOf, readCrlContext } from './context.operations.ts';
import { findCovered } from './coverage.operations.ts';
import { planClass } from './issuer-class.ts';
import { type CrlKind, crlName } from './kind.ts';
import { buildCrl, crlMemory } from './publishing.operations.ts';
import { findCrl, type StoredCrl } from './store.ts';

// When CRLs are built, and by whom: whichever thread finds one too old, it is built by the one that supervises.

/** One read of a CRL, or a turn of the job: what was acknowledged before it is on the CRL. */
export interface Asked {
  /** Unix seconds. A CRL that is begun from here on is new enough, however long it takes and however soon it runs out. */
  now: number;
  /** Revocations up to this revision are to be on a complete CRL. */
  wanted?: number;
}

/** A CRL as it is stored, and what it would be built from now. */
interface Found {
  context: CrlContext;
  stored: StoredCrl | undefined;
  /** It has to be built anew, and there is somebody to sign it. */
  is_stale: boolean;
}

/** @returns undefined as {@link readCrlContext} does */
export async function lookAtCrl(
  app: App,
  place: CrlPlace,
  asked: Asked,
): Promise<Found | undefined> {
  const context = await readCrlContext(app, place);
  if (!context) return undefined;
  asked.wanted ??= context.state.revision;
  const stored = await findCrl(app.db, place.mount_id, crlName(context.issuers.id, place.kind));
  const { signer } = context.issuers;
  const is_stale = signer !== undefined && (await judgeStale(app, stored, context, asked));
  return { context, stored, is_stale };
}

/** Says whether a CRL must be built anew. */
async function judgeStale(
  app: App,
  stored: StoredCrl | undefined,
  context: CrlContext,
  { now, wanted = 0 }: Asked,
): Promise<boolean> {
  const { config, fingerprint, kind, state } = context;
  if (!stored || stored.base !== fingerprint) return true;
  // Without deltas the complete CRL decides for theirs.
  if (kind.delta && !config.enable_delta) return false;
  if (isOld(stored, config, now)) return true;
  if (kind.delta) return isDeltaDue(stored, config, { now, revision: state.revision });
  if (config.auto_rebuild || config.disable) return false;
  return (await findCovered(app, context, stored, wanted)) < wanted;
}

/** Has a CRL that was found to be stale built, unless it is being built. @throws Failure `conflict` where it would be too long */
export function buildStale(app: App, context: CrlContext, asked: Asked): Promise<void> {
  const isElsewhere = oneForAll(app).ask !== undefined;
  return join(app, context, () =>
    isElsewhere ? buildInOnePlace(app, { ...toldOf(context), asked }) : buildCrl(app, context),
  );
}

/** A {@link CrlPlace} as another thread can be told it. */
export interface ToldPlace {
  mount_id: string;
  /** One of the class. */
  issuer_id: string;
  kind: CrlKind;
}

export const toldOf = ({ mount_id, issuers: { members }, kind }: CrlPlace): ToldPlace => ({
  mount_id,
  issuer_id: members[0]?.id ?? '',
  kind,
});

/** @returns undefined where the issuer has gone meanwhile */
export async function placeTold(
  app: App,
  { mount_id, issuer_id, kind }: ToldPlace,
): Promise<CrlPlace | undefined> {
  const mountState = await readMountState(app, mount_id);
  const issuer = mountState.issuers.get(issuer_id);
  return issuer && { mount_id, issuers: planClass(mountState, issuer), kind };
}

/** Looks again first: it may have been built for somebody else meanwhile. */
const buildInOnePlace = inOnePlace(
  'pki/crl/build',
  (app, { asked, ...told }: ToldPlace & { asked: Asked }) =>
    doAsMount(told, async () => {
      const place = await placeTold(app, told);
      const found = place && (await lookAtCrl(app, place, asked));
      if (found?.is_stale) await join(app, found.context, () => buildCrl(app, found.context));
    }),
);

/** Each finds the CRL of a moment before. */
export const ATTEMPTS = 8;

/**
 * Waits for the build of a CRL that is under way, or begins one. It is work of the mount, not of the caller: others
 * wait for it as well, and it must not queue behind whatever else the caller's site asks for.
 */
export function join(app: App, of: CrlPlace, begin: () => Promise<void>): Promise<void> {
  const { running } = crlMemory(app);
  const place = placeOf(of);
  const known = running.get(place);
  if (known) return known;
  const work = doAsMount(of, begin).finally(() => running.delete(place));
  running.set(place, work);
  return work;
}

export const beingRebuilt = (): Failure =>
  new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });

export const doAsMount = <Result>(
  { mount_id }: Pick<CrlPlace, 'mount_id'>,
  work: () => Promise<Result>,
): Promise<Result> => doFor(`mount ${mount_id}`, work);

/** Ends when the build of a CRL that is under way does, however that ends. */
export function running(app: App, place: CrlPlace): Promise<void> | undefined {
  return crlMemory(app)
    .running.get(placeOf(place))
    ?.catch(() => {});
}
