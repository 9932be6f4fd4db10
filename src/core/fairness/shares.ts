/** What each may have of work that many share, and what it has. */

import type { Piece } from './piece.ts';

/** How much goes on at the same time: in all, for one site, for one party, and of whom one party asks. */
interface Share {
  all: number;
  site: number;
  party: number;
  line: number;
}

export interface Shares {
  quick: Share;
  /** Of those who took long lately. */
  slow: Share;
  /** What waits of each; of more that is left out, of those who have most, what ends last. */
  waiting: Share;
  /** What takes longer is slow, and what takes so long was silence, in milliseconds. */
  slow_ms: number;
  silent_ms: number;
  /**
   * So long after all was offered something is begun, in milliseconds: what is due then waits for the next time. However
   * long it takes to offer all, what comes last has its chance.
   */
  begin_ms: number;
  begin_slow_ms: number;
}

export type Lane = 'quick' | 'slow';

/** How much of something waits, and goes on. */
export interface Load extends Record<Lane | 'waiting', number> {
  /** Those that it is made up of, as far as something of them waits. */
  parts: Set<Load>;
  /** Of a line. */
  line?: Line;
}

export const LEVELS = ['all', 'site', 'party', 'line'] as const satisfies readonly (keyof Share)[];

export const newLoad = (): Load => ({ waiting: 0, quick: 0, slow: 0, parts: new Set() });

/** What one party has to ask of somebody. */
export interface Line {
  key: string;
  /** What there is of it, and of all that it is part of: counted as it comes and goes, as lines are thousands. */
  loads: Readonly<Record<keyof Share, Load>>;
  /** What ends first stands first. */
  waiting: Piece[];
  /** What began first stands first. */
  running: { lane: Lane; since: number }[];
}

export const LANES: readonly Lane[] = ['quick', 'slow'];

export function loadOf(loads: Map<string, Load>, name: string): Load {
  return loads.getOrInsertComputed(name, newLoad);
}

export function count({ loads }: Line, what: Lane | 'waiting', by: number): void {
  let within: Load | undefined;
  for (const level of LEVELS) {
    const load = loads[level];
    load[what] += by;
    if (load.waiting > 0) within?.parts.add(load);
    else within?.parts.delete(load);
    within = load;
  }
}

/**
 * Of what is full, whose share of it is the largest: of the sites, of its parties, of that one's lines. Only those give
 * way to a line who have more than it would have then.
 */
export function whoGivesWay(line: Line, full: keyof Share): Line {
  let most = line.loads[full];
  let isOwn = true;
  for (const level of LEVELS.slice(LEVELS.indexOf(full) + 1)) {
    const { parts } = most;
    const own = line.loads[level];
    let count = 0;
    if (isOwn) [most, count] = [own, own.waiting + 1];
    for (const part of parts) if (part.waiting > count) [most, count] = [part, part.waiting];
    isOwn &&= most === own;
  }
  return most.line ?? line;
}

/** Asked of each line whenever something ends. */
export function hasPlace(line: Line, share: Share, what: Lane | 'waiting'): boolean {
  const { all, site, party, line: own } = line.loads;
  return (
    own[what] < share.line &&
    party[what] < share.party &&
    site[what] < share.site &&
    all[what] < share.all &&
    (what === 'waiting' || leavesOthersSome(line, share, what))
  );
}

/**
 * The second half of a site's places, and of all, is for parties and sites that have none, one each: those who answer late,
 * and are known for it or not, keep theirs for longer than anything is begun, and whoever came after them would have none.
 */
function leavesOthersSome(
  { loads: { all, site, party } }: Line,
  share: Share,
  lane: Lane,
): boolean {
  const mayHave = (part: Load, whole: Load, of: number): boolean =>
    part[lane] === 0 || whole[lane] < of / 2;
  return mayHave(party, site, share.site) && mayHave(site, all, share.all);
}

export function isBefore(one: Line, other: Line, lane: Lane): boolean {
  for (const level of LEVELS) {
    const more = one.loads[level][lane] - other.loads[level][lane];
    if (more !== 0) return more < 0;
  }
  return (one.waiting[0]?.until ?? 0) < (other.waiting[0]?.until ?? 0);
}
