import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import type { Effect } from '../../store/write.ts';
import { PAGE as BEFOREHAND } from '../resource/ending.ts';
import { removeResources } from '../resource/removals.store.ts';
import {
  endSessionCredentials,
  revokeSessionCredentials,
} from './credentials/termination.operations.ts';
import type { CancellationCause } from './dependents.store.ts';
import { type LiveCursor, listLive, listOrphans } from './orphans.store.ts';
import { cancelSome, disown, listSessionsOf, type PagedLoss } from './paged-termination.store.ts';
import {
  deleteConnections,
  deleteSessions,
  findSession,
  listConnectionsOf,
  listDue,
} from './store.ts';
import { cancelAffected, endCredentialsOf } from './termination.store.ts';
import { terminate } from './transitions.store.ts';

/**
 * What cancels the sessions that depend on something that is being removed, for the write set
 * that removes it; it stands before the removal there.
 */
export function planDependentCancellation(
  app: Pick<App, 'now'>,
  loss: CancellationCause,
): Effect[] {
  return cancelAffected(loss, app.now());
}

/** As {@link planDependentCancellation}, for a page of the sessions, before what they depend on is removed. */
export function cancelPage(app: App, loss: PagedLoss, ids: readonly string[]): Effect[] {
  return cancelSome(loss, ids, app.now());
}

/** Ends sessions until less than a page of them is left, and says how many. */
export async function endSessionsBeforehand(
  app: App,
  work: Pick<EndingPages, 'commit'>,
  loss: PagedLoss,
): Promise<number> {
  for (;;) {
    const ids = await listSessionsOf(app.db, loss, BEFOREHAND);
    if (ids.length < BEFOREHAND) return ids.length;
    const disowned = 'user_ids' in loss ? [disown(ids)] : [];
    await work.commit([...cancelPage(app, loss, ids), ...disowned], { sessions: ids.length });
  }
}

/** What ends the credentials of sessions that end; they are taken back when that is durable. */
export function endCredentials(app: App, ids: readonly string[]): Effect[] {
  const now = Math.floor(app.now() / 1000);
  return ids.flatMap((id) => endSessionCredentials(id, now));
}

/**
 * Ends those of some sessions that can end now, see `terminate`; for the write set that makes
 * it so. No harm in naming others.
 */
export function planTermination(app: App, ids: readonly string[]): Effect[] {
  return ids.length === 0 ? [] : terminate(ids, app.now());
}

/**
 * What ends the credentials of those of some sessions that have ended by then; it follows what ends
 * them in the same write set.
 */
export function planCredentialsEnd(app: App, ids: readonly string[]): Effect[] {
  return endCredentialsOf({ ended_among: ids }, Math.floor(app.now() / 1000));
}

/** Takes the credentials of ended sessions back at once, off the path. */
export function takeCredentialsBack(app: App, ids: readonly string[]): void {
  revokeSessionCredentials(app, ids).catch((err: unknown) => {
    app.log.warn({ err }, 'credentials of ended sessions are revoked later');
  });
}

/** As {@link takeCredentialsBack}, of those of some sessions that have ended. */
export async function takeBackWhereEnded(app: App, ids: readonly string[]): Promise<void> {
  const sessions = await Promise.all(ids.map((id) => findSession(app.db, id)));
  const ended = sessions.flatMap((one) => (one?.status === 'terminated' ? [one.id] : []));
  if (ended.length > 0) takeCredentialsBack(app, ended);
}

const PAGE = 200;

/** One page of what is due: sessions that end, and sessions that are forgotten. */
interface DuePage {
  effects: Effect[];
  ended: readonly string[];
  forgotten: readonly string[];
}

/** @returns undefined when nothing is due */
export async function planDue(app: App): Promise<DuePage | undefined> {
  const now = app.now();
  const due = await listDue(app.db, now, PAGE);
  if (due.length === 0) return undefined;
  const ended = due.filter(({ status }) => status !== 'terminated').map(({ id }) => id);
  const forgotten = due.filter(({ status }) => status === 'terminated').map(({ id }) => id);
  const past = forgotten.length === 0 ? [] : await listConnectionsOf(app.db, forgotten, BEFOREHAND);
  // What they have had goes before them; they are due until then.
  if (past.length === BEFOREHAND) {
    return { effects: [deleteConnections(past)], ended: [], forgotten: [] };
  }
  return {
    effects: [
      ...planTermination(app, ended),
      // Once more of those that ended with a connection, whose process may have died just then.
      ...endCredentials(app, [...ended, ...forgotten]),
      ...(forgotten.length === 0
        ? []
        : [...removeResources({ ids: forgotten }, now), ...deleteSessions(forgotten)]),
    ],
    ended,
    forgotten,
  };
}

/** One page of the sessions that are looked through. */
export interface OrphanPage {
  effects: readonly Effect[];
  /** Ids of those that stand on something that is not there, and are canceled. */
  ended: readonly string[];
  /** The last that was looked at; undefined at the end. */
  last: LiveCursor | undefined;
}

/**
 * Finds live sessions whose target, log-in, token, user, host set or host is gone. Removals cancel them
 * themselves; whatever is found here was left by an older program, or by a database that was mended.
 */
export async function planOrphanCancellation(app: App, after?: LiveCursor): Promise<OrphanPage> {
  const live = await listLive(app.db, after, PAGE);
  const ids = live.map(({ id }) => id);
  const ended = live.length === 0 ? [] : await listOrphans(app.db, ids);
  const effects = ended.length === 0 ? [] : planDependentCancellation(app, { session_ids: ended });
  return { effects, ended, last: live.length < PAGE ? undefined : live.at(-1) };
}
