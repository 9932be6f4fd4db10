import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { readMountState } from '../mount-state/operations.ts';
import { resolveIssuer } from '../mount-state/state.ts';
import { UNSHARDED } from '../mount-state/urls.ts';
import {
  type Asked,
  ATTEMPTS,
  beingRebuilt,
  buildStale,
  lookAtCrl,
} from './building.operations.ts';
import { type CrlContext, type CrlPlace, placeOf } from './context.operations.ts';
import { findReady, makeReady } from './handing.operations.ts';
import { planClass } from './issuer-class.ts';
import { COMPLETE, type CrlKind, completeOf } from './kind.ts';
import { chooseKind } from './settings.operations.ts';
import { parseShard } from './shards.ts';
import type { StoredCrl } from './store.ts';

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
  wanted: CrlKind = COMPLETE,
): Promise<PublishedCrl | undefined> {
  const kind = await chooseKind(app, mount_id, wanted);
  const mountState = await readMountState(app, mount_id);
  const issuers = planClass(mountState, resolveIssuer(mountState, ref));
  if (!kind) return undefined;
  const place = { mount_id, issuers, kind };
  const asked: Asked = { now: Math.floor(app.now() / 1000) };
  const find = (number: number) => findReady(app, placeOf(place), number);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = await renewCrl(app, place, asked);
    if (!known) return undefined;
    const { context, stored } = known;
    const der = find(stored.number);
    if (der) {
      const { lists_modified_at_ms, deltas_modified_at_ms } = context.state;
      const shared_ms = Math.max(lists_modified_at_ms, kind.delta ? deltas_modified_at_ms : 0);
      const modified_at_ms = Math.max(stored.modified_at_ms, shared_ms);
      return { number: stored.number, modified_at_ms, der };
    }
    await makeReady(app, context, stored);
    if (!context.issuers.signer && !find(stored.number)) return undefined;
  }
  throw beingRebuilt();
}

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
  const { kind } = place;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (kind.delta) await renewCrl(app, { ...place, kind: completeOf(kind) }, asked);
    const found = await lookAtCrl(app, place, asked);
    if (!found) return undefined;
    const { context, stored } = found;
    if (!found.is_stale) return stored && { context, stored };
    try {
      await buildStale(app, context, asked);
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
