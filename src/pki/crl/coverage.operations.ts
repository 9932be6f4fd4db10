import { type App, perApp } from '../../app/app.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { type CrlScope, isListedIn } from './builder/job.ts';
import { readBetween } from './builder/jobs.ts';
import { type CrlContext, placeOf } from './context.operations.ts';
import type { StoredCrl } from './store.ts';

/** Revocations that are looked through; it is as quick to build a shard as to look through many more. */
const MOST = 2000;
/** Shards that something is remembered of: those of some issuers. */
const MOST_PLACES = 4096;

/** By place, the revision up to which nothing came to the shard since it was built, and what else it is built from. */
const coverageOf = perApp(
  () => new BoundedMap<{ fingerprint: string; revision: number }>(MOST_PLACES),
);

/**
 * Up to which revision a stored CRL says all there is to say, or up to which it is known to: revocations of the mount that
 * belong on other shards do not make this one old.
 *
 * @param wanted a revision
 */
export async function findCovered(
  app: App,
  context: CrlContext,
  { revision }: StoredCrl,
  wanted: number,
): Promise<number> {
  const { mount_id, kind, scope, fingerprint } = context;
  if (!kind.shard || revision >= wanted) return revision;
  const known = coverageOf(app);
  const place = placeOf(context);
  const last = known.get(place);
  const after = Math.max(revision, last?.fingerprint === fingerprint ? last.revision : 0);
  if (after >= wanted || wanted - after > MOST) return after;
  const parsed: CrlScope = JSON.parse(scope);
  const belongs = isListedIn(parsed);
  for await (const row of readBetween(app.db, parsed, { mount_id, after, up_to: wanted })) {
    if (belongs(row)) return after;
  }
  known.set(place, { fingerprint, revision: wanted });
  return wanted;
}
