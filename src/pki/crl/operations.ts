import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import { resolveIssuer } from '../mount-state/state.ts';
import { crlDurations } from './config.ts';
import {
  crlFingerprint,
  type IssuerClass,
  numberWarnings,
  planClass,
  warnOfUnsigned,
} from './issuer-class.ts';
import {
  buildCrl,
  type CrlContext,
  crlMemory,
  fetchCrl,
  placeOf,
  readCrlContext,
} from './publishing.operations.ts';
import { planRest } from './rest.ts';
import { findCrl, type StoredCrl } from './store.ts';

interface PublishedCrl {
  number: number;
  modified_at_ms: number;
  der: Uint8Array;
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
): Promise<PublishedCrl | undefined> {
  const mountState = await readMountState(app, mount_id);
  const issuers = planClass(mountState, resolveIssuer(mountState, ref));
  // One that is begun from here on is new enough, however long it takes and however soon it runs out.
  const now = Math.floor(app.now() / 1000);
  let wanted: number | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const context = await readCrlContext(app, mount_id, issuers);
    if (!context) return undefined;
    wanted ??= context.state.revision;
    const stored = await findCrl(app.db, mount_id, issuers.id);
    if (context.issuers.signer && judgeStale(stored, { ...context, wanted }, now)) {
      await join(app, { mount_id, issuers }, () => buildCrl(app, mount_id, context));
      continue;
    }
    if (!stored) return undefined;
    const finished = crlMemory(app).cache.find(placeOf(mount_id, issuers), stored.number);
    if (finished) {
      const modified_at_ms = Math.max(stored.modified_at_ms, context.state.lists_modified_at_ms);
      return { number: stored.number, modified_at_ms, der: finished.crl.der };
    }
    await join(app, { mount_id, issuers }, () => fetchCrl(app, mount_id, context, stored));
    if (
      !context.issuers.signer &&
      !crlMemory(app).cache.find(placeOf(mount_id, issuers), stored.number)
    ) {
      return undefined;
    }
  }
  throw new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });
}

/** @throws Failure `unresolved` where {@link readCrl} has none */
export async function requireCrl(app: App, mount_id: string, ref: string): Promise<PublishedCrl> {
  const crl = await readCrl(app, mount_id, ref);
  if (crl) return crl;
  throw new Failure('unresolved', `unable to find CRL for issuer: ${ref}`);
}

const ATTEMPTS = 8;

/**
 * Waits for the build of a CRL that is under way, or begins one. It is work of the mount, not of the caller: others
 * wait for it as well, and it must not queue behind whatever else the caller's site asks for.
 */
function join(
  app: App,
  { mount_id, issuers }: { mount_id: string; issuers: IssuerClass },
  begin: () => Promise<void>,
): Promise<void> {
  const { running } = crlMemory(app);
  const place = placeOf(mount_id, issuers);
  const known = running.get(place);
  if (known) return known;
  const work = doFor(`mount ${mount_id}`, begin).finally(() => running.delete(place));
  running.set(place, work);
  return work;
}

/** No CRL is built anew for its age alone before it is this old: anybody may read it as often as they like. */
const LEAST_AGE_S = 30;

/** Says whether a CRL must be built anew. */
function judgeStale(
  stored: StoredCrl | undefined,
  context: Pick<CrlContext, 'issuers' | 'config' | 'scope'> & { wanted: number },
  now: number,
): boolean {
  const { issuers, config, scope, wanted } = context;
  if (!stored) return true;
  if (stored.base !== crlFingerprint(issuers, scope, config.expiry)) return true;
  const lifetime = stored.next_update - stored.this_update;
  // Without auto_rebuild a CRL is renewed halfway through, so that nobody meets one that ran out.
  const grace = config.auto_rebuild ? crlDurations(config).auto_rebuild_grace_period : lifetime / 2;
  const due = Math.max(stored.next_update - grace, stored.this_update + LEAST_AGE_S);
  if (now >= due) return true;
  return !config.auto_rebuild && !config.disable && stored.revision < wanted;
}

/** Has the CRL of an issuer built soon, off the request's path. */
export function scheduleCrl(app: App, mount_id: string, issuer_id: string): void {
  const { scheduled, durations } = crlMemory(app);
  const slot = `${mount_id}/${issuer_id}`;
  if (scheduled.has(slot)) return;
  const timer = setTimeout(
    () => {
      scheduled.delete(slot);
      readCrl(app, mount_id, issuer_id).catch((err: unknown) => {
        if (!app.barrier.sealed) app.log.warn({ err }, 'a CRL was not built');
      });
    },
    planRest(durations, mount_id),
  );
  timer.unref();
  scheduled.set(slot, timer);
}

/**
 * Builds the CRLs of all issuers of the mount, whatever their age. One that cannot be built keeps none of the others from it.
 *
 * @throws the first failure, once all were tried
 */
export async function rotateCrls(app: App, caller: Caller) {
  // CRLs are published one by one, for everybody who waits for them: the request's own record says
  // first that it was asked for, and whether the caller may.
  await app.commit(caller, []);
  const mount_id = caller.mount.id;
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
    await rotateCrl(app, mount_id, issuers).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
  return { data: { success: true }, warnings: numberWarnings(told) };
}

/** Has a CRL published that was begun after now, or that covers as much. */
async function rotateCrl(app: App, mount_id: string, issuers: IssuerClass): Promise<void> {
  const place = placeOf(mount_id, issuers);
  const before = await findCrl(app.db, mount_id, issuers.id);
  const { revision: wanted } = await readRevocationState(app.db, mount_id);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // One that is under way may have begun before the request, or may only be fetched.
    for (let busy = running(app, place); busy; busy = running(app, place)) await busy;
    const context = await readCrlContext(app, mount_id, issuers);
    if (!context) return;
    await join(app, { mount_id, issuers }, () => buildCrl(app, mount_id, context));
    const stored = await findCrl(app.db, mount_id, issuers.id);
    // Another node may have been quicker, with a CRL that it began before this request.
    const isNew = stored && stored.number > (before?.number ?? 0) && stored.revision >= wanted;
    if (isNew || !context.issuers.signer) return;
  }
  throw new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });
}

/** Ends when the build of a CRL that is under way does, however that ends. */
function running(app: App, place: string): Promise<void> | undefined {
  return crlMemory(app)
    .running.get(place)
    ?.catch(() => {});
}
