/**
 * A byte that was carried may be noted so much later: bytes are noted every ten seconds, a worker goes on for
 * fifteen without its server, and what could not be noted is the next time.
 */
export const UNNOTED_MS = 35_000;

/** What tells how long a session has been unused. Unix milliseconds; null and 0: never. */
export interface SessionUse {
  created_ms: number;
  active_ms: number | null;
  /** When its last connection was closed. */
  left_ms: number;
  /** When one of its open connections was last made, connected, or noted to have carried anything. */
  carried_ms: number | null;
}

/** When a session was last used, as far as it is noted: not before its last byte. */
export function lastUseOf({ created_ms, active_ms, left_ms, carried_ms }: SessionUse): number {
  return Math.max(created_ms, active_ms ?? 0, left_ms, carried_ms ?? 0);
}

/**
 * Until when a session must have been last used to be idle by now: whatever it has carried within its
 * time is noted by then.
 */
export function idleBefore(now: number, idle_seconds: number): number {
  return now - idle_seconds * 1000 - UNNOTED_MS;
}
