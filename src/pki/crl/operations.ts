import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import { resolveIssuer } from '../mount-state/state.ts';
import { UNSHARDED } from '../mount-state/urls.ts';
import { isDeltaDue, isOld } from './age.ts';
import { type CrlContext, type CrlPlace, placeOf, readCrlContext } from './context.operations.ts';
import { findCovered } from './coverage.operations.ts';
import { numberWarnings, planClass, warnOfUnsigned } from './issuer-class.ts';
import { ALL, COMPLETE, type CrlKind, completeOf, crlName, DELTA, parseCrlName } from './kind.ts';
import { buildCrl, crlMemory, fetchCrl } from './publishing.operations.ts';
import { planRest } from './rest.ts';
import { chooseKind, readCrlConfig } from './settings.operations.ts';
import { parseShard } from './shards.ts';
import { findCrl, listCompleteCrls, type StoredCrl } from './store.ts';

interface PublishedCrl {
  number: number;
  modified_at_ms: number;
  der: Uint8Array;
}

/** One read of a CRL, or a turn of the job: what was acknowledged before it is on the CRL. */
interface Asked {
  /** Unix seconds. A CRL that is begun from here on is new enough, however long it takes and however soon it runs out. */
  now: number;
  /** Revocations up to this revision are to be on a complete CRL. */
  wanted?: number;
}

/**
 * The CRL of an issuer as it should be now. Built before the answer only when it would
 * otherwise be missing a revocation that has been acknowledged, or have run out.
 *
 * @returns undefined when there is none and nobody may sign one
 */
export async function readCrl(
  app: App,
  mount_id: string,
  ref: string,
  wanted: CrlKind = COMPLETE,
): Promise<PublishedCrl | undefined> {
  const kind = await chooseKind(app, mount_id, wanted);
  const mountState = await readMountState(app, mount_id);
  const issuers = planClass(mountState, resolveIssuer(mountState, ref));
  if (!kind) return undefined;
  const place = { mount_id, issuers, kind };
  const asked: Asked = { now: Math.floor(app.now() / 1000) };
  const find = (number: number) => crlMemory(app).cache.find(placeOf(place), number);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = await renewCrl(app, place, asked);
    if (!known) return undefined;
    const { context, stored } = known;
    const finished = find(stored.number);
    if (finished) {
      const { lists_modified_at_ms, deltas_modified_at_ms } = context.state;
      const shared_ms = Math.max(lists_modified_at_ms, kind.delta ? deltas_modified_at_ms : 0);
      const modified_at_ms = Math.max(stored.modified_at_ms, shared_ms);
      return { number: stored.number, modified_at_ms, der: finished.crl.der };
    }
    await join(app, place, () => fetchCrl(app, context, stored));
    if (!context.issuers.signer && !find(stored.number)) return undefined;
  }
  throw beingRebuilt();
}

const beingRebuilt = (): Failure =>
  new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });

/**
 * Has a CRL built if the stored one is not what it should be.
 *
 * @returns undefined when there is none and nobody may sign one
 */
export async function renewCrl(
  app: App,
  place: CrlPlace,
  asked: Asked,
): Promise<{ context: CrlContext; stored: StoredCrl } | undefined> {
  const { mount_id, kind } = place;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (kind.delta) await renewCrl(app, { ...place, kind: completeOf(kind) }, asked);
    const context = await readCrlContext(app, place);
    if (!context) return undefined;
    asked.wanted ??= context.state.revision;
    const stored = await findCrl(app.db, mount_id, crlName(context.issuers.id, kind));
    if (!context.issuers.signer || !(await judgeStale(app, stored, context, asked))) {
      return stored && { context, stored };
    }
    try {
      await join(app, place, () => buildCrl(app, context));
    } catch (error) {
      // One that would have too many entries leaves the last one in force.
      if (stored && isConflict(error)) return { context, stored };
      throw error;
    }
  }
  throw beingRebuilt();
}

/** @throws Failure `unresolved` where {@link readCrl} has none */
export async function requireCrl(
  app: App,
  mount_id: string,
  ref: string,
  kind: CrlKind = COMPLETE,
): Promise<PublishedCrl> {
  const crl = await readCrl(app, mount_id, ref, kind);
  if (crl) return crl;
  throw new Failure('unresolved', `unable to find CRL for issuer: ${ref}`);
}

/**
 * The CRL for a part of the certificates.
 *
 * @throws Failure `not_found` while no certificate names it, or none any more
 * @see P-310
 */
export async function readShard(
  app: App,
  { mount }: Caller,
  { issuer_ref = 'default', crl_shard }: { issuer_ref?: string; crl_shard: string },
): Promise<PublishedCrl> {
  if (crl_shard === UNSHARDED) return requireCrl(app, mount.id, issuer_ref);
  const shard = parseShard(crl_shard);
  const crl = shard && (await readCrl(app, mount.id, issuer_ref, { ...COMPLETE, shard }));
  if (crl) return crl;
  throw new Failure('not_found', `no certificate of the issuer names the shard "${crl_shard}"`);
}

const ATTEMPTS = 8;

/**
 * Waits for the build of a CRL that is under way, or begins one. It is work of the mount, not of the caller: others
 * wait for it as well, and it must not queue behind whatever else the caller's site asks for.
 */
function join(app: App, of: CrlPlace, begin: () => Promise<void>): Promise<void> {
  const { running } = crlMemory(app);
  const place = placeOf(of);
  const known = running.get(place);
  if (known) return known;
  const work = doFor(`mount ${of.mount_id}`, begin).finally(() => running.delete(place));
  running.set(place, work);
  return work;
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

/**
 * Has the CRL of an issuer built soon, off the request's path.
 *
 * @param kind another than the complete one; where there is none of it, that one is built
 */
export function scheduleCrl(
  app: App,
  mount_id: string,
  issuer_id: string,
  kind: CrlKind = COMPLETE,
): void {
  const { scheduled, durations } = crlMemory(app);
  const slot = `${mount_id}/${crlName(issuer_id, kind)}`;
  if (scheduled.has(slot)) return;
  const timer = setTimeout(
    () => {
      scheduled.delete(slot);
      readFirst(app, mount_id, issuer_id, kind).catch((err: unknown) => {
        if (!app.barrier.sealed) app.log.warn({ err }, 'a CRL was not built');
      });
    },
    planRest(durations, mount_id, kind.shard && countShards(scheduled, mount_id) + 1),
  );
  timer.unref();
  scheduled.set(slot, timer);
}

const countShards = (scheduled: ReadonlyMap<string, unknown>, mount_id: string): number =>
  scheduled
    .keys()
    .filter((slot) => slot.includes('/shard=') && slot.startsWith(`${mount_id}/`))
    .reduce((count) => count + 1, 0);

async function readFirst(app: App, mount_id: string, ref: string, kind: CrlKind): Promise<void> {
  const isThere = await readCrl(app, mount_id, ref, kind);
  if (!isThere && kind.shard) await readCrl(app, mount_id, ref);
}

/** Builds the CRLs of all issuers of the mount, whatever their age. @throws as {@link rotateAll} does */
export async function rotateCrls(app: App, caller: Caller) {
  return { data: { success: true }, warnings: await rotateAll(app, caller, COMPLETE) };
}

/** The same of delta CRLs; where there are none to be, only a warning. @throws as {@link rotateAll} does */
export async function rotateDeltaCrls(app: App, caller: Caller) {
  const { enable_delta } = await readCrlConfig(app, caller.mount.id);
  const warnings = enable_delta
    ? await rotateAll(app, caller, DELTA)
    : ['requested rebuild of delta CRL when delta CRL is not enabled; this is a no-op'];
  return { data: { success: true }, warnings };
}

/**
 * Has the CRLs of all issuers built. One that cannot be built keeps none of the others from it.
 *
 * @returns warnings of those that nobody may sign
 * @throws the first failure, once all were tried
 */
async function rotateAll(app: App, caller: Caller, { delta }: CrlKind): Promise<string[]> {
  // CRLs are published one by one, for everybody who waits for them: the request's own record says
  // first that it was asked for, and whether the caller may.
  await app.commit(caller, []);
  const mount_id = caller.mount.id;
  const { unified_crl } = await readCrlConfig(app, mount_id);
  const kinds = [app.config.cluster_name, ...(unified_crl ? [ALL] : [])];
  const mountState = await readMountState(app, mount_id);
  const told: string[] = [];
  const failures: unknown[] = [];
  const done = new Set<Issuer>();
  const breath = new Breath();
  for (const issuer of mountState.issuers.values()) {
    if (done.has(issuer)) continue;
    // `planClass` reads all issuers, of which there may be a thousand.
    await breath.take();
    const issuers = planClass(mountState, issuer);
    for (const member of issuers.members) done.add(member);
    if (!issuers.signer) {
      told.push(...warnOfUnsigned(mountState, issuers));
      continue;
    }
    const wanted: CrlKind[] = kinds.map((of) => ({ delta, of }));
    if (!delta) wanted.push(...(await listShards(app, mount_id, issuers.id, kinds)));
    for (const kind of wanted) {
      const place = { mount_id, issuers, kind };
      await rotateCrl(app, place).catch((error: unknown) => failures.push(error));
    }
  }
  if (failures.length > 0) throw failures[0];
  return numberWarnings(told);
}

/** Shards that were built once; one that no certificate names any more stays as it is. */
async function listShards(
  app: App,
  mount_id: string,
  class_id: string,
  clusters: readonly string[],
): Promise<CrlKind[]> {
  const stored = await listCompleteCrls(app.db, mount_id, class_id);
  return stored
    .map((one) => parseCrlName(one.class).kind)
    .filter(({ shard, of = '' }) => shard && clusters.includes(of));
}

/** Has a CRL published that was begun after now, or that covers as much. */
async function rotateCrl(app: App, place: CrlPlace): Promise<void> {
  const { mount_id, issuers, kind } = place;
  const find = () => findCrl(app.db, mount_id, crlName(issuers.id, kind));
  const before = await find();
  const { revision: wanted } = await readRevocationState(app.db, mount_id);
  const asked: Asked = { now: Math.floor(app.now() / 1000), wanted };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (kind.delta) await renewCrl(app, { ...place, kind: completeOf(kind) }, asked);
    // One that is under way may have begun before the request, or may only be fetched.
    for (let busy = running(app, place); busy; busy = running(app, place)) await busy;
    const context = await readCrlContext(app, place);
    if (!context) return;
    await join(app, place, () => buildCrl(app, context));
    const stored = await find();
    // Another node may have been quicker, with a CRL that it began before this request.
    const isNew = stored && stored.number > (before?.number ?? 0) && stored.revision >= wanted;
    if (isNew || !context.issuers.signer) return;
  }
  throw beingRebuilt();
}

/** Ends when the build of a CRL that is under way does, however that ends. */
function running(app: App, place: CrlPlace): Promise<void> | undefined {
  return crlMemory(app)
    .running.get(placeOf(place))
    ?.catch(() => {});
}
