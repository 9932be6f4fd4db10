import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import type { Write } from '../../store/write.ts';
import { countLiveSessions, holdFewer } from './user-limit.store.ts';

/**
 * Refuses a user who has as many sessions as the configuration lets one have, before anything is made
 * for another one. What is exact is {@link holdRoom}.
 *
 * @throws Failure `precondition`
 * @see B-119
 */
export async function requireRoom(app: App, user_id: string): Promise<void> {
  const { max_per_user: most } = app.config.session_limits;
  if (most === undefined) return;
  const count = await countLiveSessions(app.db, user_id, app.now());
  if (count < most) return;
  throw new Failure(
    'precondition',
    `The user has ${count} ${count === 1 ? 'session' : 'sessions'} that ${count === 1 ? 'has' : 'have'} not ended, and may have at most ${most} at once: cancel one first.`,
  );
}

/** What refuses the write set of a session as a conflict where the user has no room for it by then. */
export function holdRoom(app: App, user_id: string): Write[] {
  const { max_per_user: most } = app.config.session_limits;
  return most === undefined ? [] : holdFewer(user_id, most, app.now());
}
