import type { App } from '../../app/app.ts';
import type { Effect } from '../../store/write.ts';
import { listUnusedSince, noteUse, runOut, type UnusedSession } from './idle.store.ts';
import { idleBefore, lastUseOf } from './idle.ts';
import { planCredentialsEnd, planTermination } from './termination.operations.ts';

const PAGE = 200;

/** One page of the sessions that may be idle. */
interface IdlePage {
  effects: readonly Effect[];
  /** Ids of those that are, and run out; empty: all are used. */
  idle: readonly string[];
}

/**
 * Looks at sessions that may have been unused for too long. Those that were are as if their time had run out
 * now: what they carry is cut as that of any session, and those without a connection end at once.
 *
 * @returns undefined when there is none
 * @see B-119
 */
export async function planIdle(app: App, idle_seconds: number): Promise<IdlePage | undefined> {
  const now = app.now();
  const before = idleBefore(now, idle_seconds);
  const page = await listUnusedSince(app.db, { before, now, limit: PAGE });
  if (page.length === 0) return undefined;
  const isIdle = (session: UnusedSession): boolean => lastUseOf(session) <= before;
  const idle = page.filter(isIdle).map(({ id }) => id);
  return {
    idle,
    effects: [
      // In the order in which connections that are closed take the rows of their sessions.
      ...page
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map((session) =>
          isIdle(session) ? runOut(session, now) : noteUse(session.id, lastUseOf(session)),
        ),
      ...planTermination(app, idle),
      ...(idle.length > 0 ? planCredentialsEnd(app, idle) : []),
    ],
  };
}
