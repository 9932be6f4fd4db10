import { endPages, workOf } from '../../../access/leases/ending.operations.ts';
import { PAGE } from '../../../access/leases/expiration.operations.ts';
import { expireLeases, expireRange, listRange } from '../../../access/leases/store.ts';
import { systemCaller } from '../../../access/system-caller.ts';
import type { App } from '../../../app/app.ts';
import type { EndingPages } from '../../../app/ended.ts';
import { rangeOf } from '../../../app/lease.ts';
import type { Effect } from '../../../store/write.ts';
import { PAGE as BEFOREHAND } from '../../resource/ending.ts';
import { sessionPrefix } from '../../vault/leases/lease.ts';
import {
  deleteInjected,
  deleteInjectedUpTo,
  endOfSources,
  listInjectedOfSources,
  listLeasesOfSources,
  type SourcesOf,
} from './store.ts';

/**
 * What ends the credentials of a session: they are due with the write set that ends the session,
 * and are revoked by {@link revokeSessionCredentials} at once or by the job that follows.
 *
 * @param now Unix seconds
 */
export function endSessionCredentials(session_id: string, now: number): Effect[] {
  return [expireRange(rangeOf(sessionPrefix(session_id)), now), deleteInjected({ session_id })];
}

/**
 * What ends the credentials that a library, a stored credential, or all of a store gave to sessions,
 * for the write set that removes it. The job of the leases revokes what is due; the sessions go on.
 */
export function planSourceRemoval(app: App, of: SourcesOf): Effect[] {
  return endOfSources(of, Math.floor(app.now() / 1000));
}

/** As {@link planSourceRemoval}, before some sources are removed, until less than a page of each kind is left. */
export async function endSourcesBeforehand(
  app: App,
  work: Pick<EndingPages, 'commit'>,
  source_ids: readonly string[],
): Promise<void> {
  for (;;) {
    const now = Math.floor(app.now() / 1000);
    const ids = await listLeasesOfSources(app.db, source_ids, { now, limit: BEFOREHAND });
    if (ids.length < BEFOREHAND) break;
    await work.commit([expireLeases(ids, now)], { leases: ids.length });
  }
  for (;;) {
    const kept = await listInjectedOfSources(app.db, source_ids, BEFOREHAND);
    const last = kept.at(-1);
    if (last === undefined || kept.length < BEFOREHAND) break;
    await work.commit([deleteInjectedUpTo(source_ids, last)], { credentials: kept.length });
  }
}

/** Revokes the credentials of ended sessions now; what cannot be revoked is tried again later. */
export async function revokeSessionCredentials(
  app: App,
  session_ids: readonly string[],
): Promise<void> {
  for (const session_id of session_ids) {
    const range = rangeOf(sessionPrefix(session_id));
    const work = workOf(app, systemCaller(app.newId(), 'broker/session-credentials'));
    await endPages(app, work, (last) =>
      listRange(app.db, range, { after: last?.id ?? '', limit: PAGE }),
    );
  }
}
