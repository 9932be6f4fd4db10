import { type App, perApp } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { SharedRuns } from '../../core/fairness/shared-runs.ts';
import { isForRoom } from '../../store/waiting-sets.ts';
import type { Effect } from '../../store/write.ts';
import { commitEnd } from '../endings/operations.ts';
import {
  endTokensOfMount,
  FIRST,
  listDeadTokens,
  listLaden,
  listThere,
  listTokensOfMount,
  type RemovalPage,
  removePage,
} from './expiration.store.ts';
import { nowSeconds } from './minting.operations.ts';

/** Rows of each kind in one write set: whoever else writes waits for it. */
const PAGE = 200;
/** Write sets by which a request removes what it has ended; what is left is the job's. */
const IN_REQUEST = 20;
/** Tokens that could not be removed, in a run that goes on with the others all the same. */
const MOST_FAILED = 3;

/** How pages are committed, and whether to stop after one. */
export interface RemovalWork {
  commit(effects: Effect[]): Promise<void>;
  readonly stopping: boolean;
}

/** How a request removes tokens. */
interface Removal {
  /** Write sets that it may make. */
  most?: number;
  /** Ends what hangs on some of them by itself, before their rows are taken from it. */
  beforehand?: ((ids: readonly string[]) => Promise<void>) | undefined;
}

/**
 * Removes what is left of tokens that were ended, as far as a request may take: what hung on them is
 * dead already, and told of by the request's record.
 *
 * @returns how many more write sets the request may make
 */
export async function removeEnded(
  app: App,
  ids: readonly string[],
  { most = IN_REQUEST, beforehand }: Removal = {},
): Promise<number> {
  const now = nowSeconds(app);
  let queue = await listThere(app.db, ids, now);
  let left = most;
  for (; queue.length > 0 && left > 0; left -= 1) {
    const some = queue.slice(0, PAGE);
    const page = { ids: some, now, limit: PAGE };
    await beforehand?.(some);
    const loose = await listLaden(app.db, page);
    await endBeforehand(app, app.store, page);
    const effects = await planPage(app, page);
    await commitEnd(app, () => app.store.commit(effects));
    queue = [...(await listThere(app.db, some, now)), ...loose, ...queue.slice(PAGE)];
  }
  return left;
}

/** What others keep of them, as far as it is much. */
function endBeforehand(
  app: App,
  { commit }: Pick<RemovalWork, 'commit'>,
  { ids, now }: RemovalPage,
): Promise<void> {
  const work = { commit: (effects: readonly Effect[]) => commit([...effects]), own_token_ids: [] };
  return app.endDependants(app, work, { token_ids: ids, ended_by: now });
}

/** What others keep of them ends while they are there to be asked about. */
async function planPage(app: App, page: RemovalPage): Promise<Effect[]> {
  const ended = await app.planDependants(app, { token_ids: page.ids, ended_by: page.now });
  return [...ended, ...removePage(page)];
}

/** As {@link removeEnded}, of the tokens that log-ins through a mount made, which is gone. */
export async function removeEndedOfMount(
  app: App,
  mount_id: string,
  { beforehand }: Pick<Removal, 'beforehand'> = {},
): Promise<void> {
  for (let left = IN_REQUEST; left > 0; ) {
    const ids = await listTokensOfMount(app.db, { mount_id, limit: PAGE });
    if (ids.length === 0) return;
    await app.store.commit([endTokensOfMount({ mount_id, limit: PAGE })]);
    left = await removeEnded(app, ids, { most: left - 1, beforehand });
  }
}

/** Ends the tokens of a mount that is gone, in pages; what is left of them is removed by its job. */
export async function endTokensOfMountInPages(
  app: App,
  work: RemovalWork,
  mount_id: string,
): Promise<void> {
  while (!work.stopping) {
    if ((await listTokensOfMount(app.db, { mount_id, limit: 1 })).length === 0) return;
    await inHalves((limit) => work.commit([endTokensOfMount({ mount_id, limit })]));
  }
}

/**
 * Removes what is left of tokens that have run out or were ended, with all that descend from them.
 * One that cannot be removed holds up none of the others.
 */
export async function tidyTokens(app: App, work: RemovalWork): Promise<void> {
  const failed = new Map<string, unknown>();
  // What is cut off in one pass is there for the next.
  for (let found = true; found && !work.stopping; ) found = await tidyOnce(app, work, failed);
  for (const [id, err] of failed) app.log.error({ err, token: id }, 'a token could not be removed');
}

const runsOf = perApp(() => new SharedRuns());

/** As {@link tidyTokens}, for a request: those that come while it is done for another share what comes after. */
export function tidyTokensOnce(app: App, work: RemovalWork): Promise<void> {
  return runsOf(app).run(() => tidyTokens(app, work));
}

async function tidyOnce(
  app: App,
  work: RemovalWork,
  failed: Map<string, unknown>,
): Promise<boolean> {
  let found = false;
  for (let after = FIRST; !work.stopping; ) {
    const page = await listDeadTokens(app.db, { now: nowSeconds(app), after, limit: PAGE });
    const last = page.at(-1);
    if (!last) break;
    const ids = page.flatMap(({ id }) => (failed.has(id) ? [] : [id]));
    if (ids.length > 0) found = true;
    await removeAll(app, work, ids, failed);
    after = last;
  }
  return found;
}

/**
 * Removes some dead tokens with what hangs on them, fewer at once where that is too much. Of each with more than a page
 * of it the rest is left to the next pass: it keeps none of the others waiting.
 */
async function removeAll(
  app: App,
  work: RemovalWork,
  ids: readonly string[],
  failed: Map<string, unknown>,
): Promise<void> {
  if (ids.length === 0 || work.stopping) return;
  const now = nowSeconds(app);
  const [only, second] = ids;
  const isOne = second === undefined && only !== undefined;
  let left = ids;
  try {
    await endBeforehand(app, work, { ids, now, limit: PAGE });
    const commit = async (limit: number) => work.commit(await planPage(app, { ids, now, limit }));
    await (isOne ? inHalves(commit) : commit(PAGE));
    left = await listThere(app.db, ids, now);
  } catch (error) {
    if (!isTooMuch(error)) throw error;
    if (isOne) return giveUp(failed, only, error);
  }
  if (isOne) return;
  const middle = left.length >> 1;
  for (const half of [left.slice(0, middle), left.slice(middle)])
    await removeAll(app, work, half, failed);
}

function giveUp(failed: Map<string, unknown>, id: string, error: unknown): void {
  // So many are no matter of theirs.
  if (failed.size === MOST_FAILED) throw error;
  failed.set(id, error);
}

/** Does a page of so many rows, or where the database does not take that, half as many, down to one. */
async function inHalves(commit: (limit: number) => Promise<void>): Promise<void> {
  for (let limit = PAGE; ; limit = Math.ceil(limit / 2)) {
    try {
      return await commit(limit);
    } catch (error) {
      if (!isTooMuch(error) || limit === 1) throw error;
    }
  }
}

/** Whether fewer rows may be taken where these were not. */
function isTooMuch(error: unknown): boolean {
  return error instanceof Failure && error.kind === 'unavailable' && !isForRoom(error);
}
