import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Lease } from '../../app/lease.ts';
import { removeEnded, removeEndedOfMount } from '../tokens/expiration.operations.ts';
import { AT_ONCE, type EndingWork, endEach, workOf } from './ending.operations.ts';
import { findLease, listLeasesOfTokens } from './store.ts';

/** Leases that the end of tokens ends before it is answered; the rest follows by the job. */
const IN_REQUEST = 2_000;

/**
 * Removes tokens that a request has ended by a write set, and those that descend from them, once that is committed: their
 * leases end first. As far as a request may take, and nobody else's, so that its record tells of nothing that it did not
 * end. The rest is dead already and follows with the next run of the jobs.
 */
export async function removeTokensAfterCommit(
  app: App,
  caller: Caller,
  ended: { token_ids: readonly string[] } | { mount_id: string },
): Promise<void> {
  const beforehand = endingLeases(app, workOf(app, caller));
  try {
    if ('mount_id' in ended) await removeEndedOfMount(app, ended.mount_id, { beforehand });
    else await removeEnded(app, ended.token_ids, { beforehand });
  } catch (err) {
    app.log.warn({ err }, 'what is left of tokens that were ended goes later');
  }
}

/**
 * As {@link removeTokensAfterCommit}, of the log-ins that were noted while the request's write sets were planned
 * (`caller.ending`). Batch log-ins have no token to be removed: leases that they had end.
 */
export async function removeLogInsAfterCommit(app: App, caller: Caller): Promise<void> {
  const { token_ids, lease_ids } = caller.ending;
  await removeTokensAfterCommit(app, caller, { token_ids: [...token_ids] });
  await endLoosened(app, caller, [...lease_ids]);
}

/** Leases that had a holder, as far as they have none any more. */
async function endLoosened(app: App, caller: Caller, ids: readonly string[]): Promise<void> {
  const work = workOf(app, caller);
  try {
    await endByIds(app, work, ids, ({ token_id, alias_id }) => !token_id && !alias_id);
  } catch (err) {
    app.log.warn({ err }, 'what is left of log-ins that were ended goes later');
  }
}

async function endByIds(
  app: App,
  work: EndingWork,
  ids: readonly string[],
  isMeant: (lease: Lease) => boolean = () => true,
): Promise<void> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const some = ids.slice(start, start + AT_ONCE);
    const leases = await Promise.all(some.map((id) => findLease(app.db, id)));
    const meant = leases.filter((lease) => lease !== undefined).filter(isMeant);
    await endEach(app, work, meant);
  }
}

/** Ends the leases of some tokens while these are there to be asked about; each lease is tried once. */
function endingLeases(app: App, work: EndingWork): (token_ids: readonly string[]) => Promise<void> {
  const tried = new Set<string>();
  return async (token_ids) => {
    if (tried.size >= IN_REQUEST) return;
    const found = await listLeasesOfTokens(app.db, token_ids, IN_REQUEST);
    const ids = found.filter((id) => !tried.has(id)).slice(0, IN_REQUEST - tried.size);
    for (const id of ids) tried.add(id);
    await endByIds(app, work, ids);
  };
}
