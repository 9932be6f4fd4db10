import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import { type Asked, ATTEMPTS, beingRebuilt, join, running } from './building.operations.ts';
import { type CrlPlace, readCrlContext } from './context.operations.ts';
import { numberWarnings, planClass, warnOfUnsigned } from './issuer-class.ts';
import { ALL, COMPLETE, type CrlKind, completeOf, crlName, DELTA, parseCrlName } from './kind.ts';
import { renewCrl } from './operations.ts';
import { buildCrl } from './publishing.operations.ts';
import { readCrlConfig } from './settings.operations.ts';
import { findCrl, listCompleteCrls } from './store.ts';

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
