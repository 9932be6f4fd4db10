// Only one seal can be stored as the next. The request that stored it is about to hand out its shares, and says that
// they open the server whatever the database confirms: no other may replace it before that answer. Nor may a process
// that was killed keep the place: it is free once that request must have answered.

/** Most milliseconds that a rekeying takes from its first write to its answer. */
export const PATIENCE = 30_000;

/** So long a node leaves what another one stored alone, counted from when it saw it: by its own clock only. */
export const LEFT_ALONE = 2 * PATIENCE;

/** What a node knows of seals that are to follow, by their tags. */
export interface KnownNext {
  /** Of rekeyings at this node that are not answered yet. */
  underway: Set<string>;
  /** Of the last one here that was answered, with its shares or without. */
  answered: string | undefined;
  seen: Sighting | undefined;
}

interface Sighting {
  tag: string;
  /** Unix milliseconds. */
  since: number;
}

/** What is known once a seal has been seen: the first time counts. */
export function sighted(seen: Sighting | undefined, tag: string, now: number): Sighting {
  return seen?.tag === tag ? seen : { tag, since: now };
}

/**
 * Whether whoever stored the seal that is to follow has answered, or never will.
 *
 * @param at.alone no other node can have stored it
 */
export function isGivenUp(
  { underway, answered, seen }: KnownNext,
  tag: string,
  at: { now: number; alone: boolean },
): boolean {
  if (underway.has(tag)) return false;
  if (at.alone || answered === tag) return true;
  return seen?.tag === tag && at.now - seen.since >= LEFT_ALONE;
}
