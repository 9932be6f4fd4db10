import { z } from 'zod';
import { absentAsNull, count, seconds } from './kinds.ts';

export const sessionLimits = {
  max_per_user: absentAsNull(count(1).optional()).meta({
    takes: 'number, 1 or more',
    otherwise: 'no limit',
    description:
      'sessions, pending or active, that one user may have at once, on all servers together; more are refused until one has ended',
  }),
  idle_seconds: absentAsNull(seconds.optional()).meta({
    takes: 'duration, 1 s or more',
    otherwise: 'none: a session may be silent until its time is over',
    description:
      'seconds without a byte in either direction, on any connection, after which a session ends. See [sessions](sessions.md#limits)',
  }),
};
/** How much of sessions one user may have, and for how long (seconds) a session may be unused; absent: as much as they like. */
export type SessionLimits = z.output<z.ZodObject<typeof sessionLimits>>;
export const SESSION_LIMITS_DEFAULTS: SessionLimits = z.object(sessionLimits).parse({});
