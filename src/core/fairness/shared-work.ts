import type { Piece, Whose } from './piece.ts';
import {
  count,
  hasPlace,
  isBefore,
  LANES,
  type Lane,
  LEVELS,
  type Line,
  type Load,
  loadOf,
  newLoad,
  type Shares,
  whoGivesWay,
} from './shares.ts';
import type { SlowOnes } from './slow-ones.ts';
import type { Tries } from './tries.ts';

/**
 * Asks many for many, in one run of a job. Each has places of its own, by whom it asks and for whom: one who
 * answers late or never keeps nobody else waiting, and whoever is done makes place for the next at once.
 */
export class SharedWork {
  readonly #shares: Shares;
  readonly #slow: SlowOnes;
  readonly #tries: Tries;
  readonly #now: () => number;
  readonly #isStopping: () => boolean;
  readonly #lines = new Map<string, Line>();
  readonly #all = newLoad();
  readonly #sites = new Map<string, Load>();
  readonly #parties = new Map<string, Load>();
  readonly #seen = new Set<string>();
  /** Lines of which something was left out, by their keys. */
  readonly #leftOut = new Map<string, Line>();
  /** When all was offered: only from then on is anything asked again that was asked in vain. */
  #offeredAt: number | undefined;
  #failed: { reason: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  /**
   * @param known what is known from earlier, and noted for later: who is slow, and what was asked in vain
   * @param isStopping whether nothing more is to be begun
   */
  constructor(
    shares: Shares,
    known: { slow: SlowOnes; tries: Tries },
    isStopping: () => boolean,
    now = () => performance.now(),
  ) {
    this.#shares = shares;
    this.#slow = known.slow;
    this.#tries = known.tries;
    this.#isStopping = isStopping;
    this.#now = now;
  }

  /** Takes something up, unless too much waits: then something is left out of this run, or of this look. */
  offer(piece: Piece): void {
    if (this.#seen.has(piece.id) || this.isOver) return;
    const line = this.#lineOf(piece.whose);
    if (!this.#makeRoom(line, piece)) {
      this.#forget(line);
      return;
    }
    this.#seen.add(piece.id);
    const at = line.waiting.findIndex((other) => this.#isSooner(piece, other));
    line.waiting.splice(at < 0 ? line.waiting.length : at, 0, piece);
    count(line, 'waiting', 1);
    // What else waits had no place before either.
    this.#beginIn(this.#laneOf(line, this.#now()), line);
  }

  /** Whoever has most waiting of what is full gives way, by what ends last; also the line itself. */
  #makeRoom(line: Line, piece: Piece): boolean {
    const { waiting } = this.#shares;
    const full = LEVELS.findLast((level) => line.loads[level].waiting >= waiting[level]);
    if (full === undefined) return true;
    const giving = whoGivesWay(line, full);
    this.#leftOut.set(giving.key, giving);
    const last = giving.waiting.at(-1);
    if (!last || (giving === line && !this.#isSooner(piece, last))) return false;
    giving.waiting.pop();
    count(giving, 'waiting', -1);
    this.#seen.delete(last.id);
    if (giving !== line) this.#forget(giving);
    return true;
  }

  /** Whether nothing more is begun. */
  get isOver(): boolean {
    return this.#isEnded(this.#shares.begin_ms);
  }

  /** Waits until there is room again for some of what was left out. @returns false when there will be none */
  async hasRoomAgain(): Promise<boolean> {
    this.#offeredAt ??= this.#now();
    this.#goOn();
    while (!this.isOver && this.#leftOut.size > 0) {
      if (this.#hasRoomForLeftOut()) {
        this.#leftOut.clear();
        return true;
      }
      if (!this.#isAtWork) return false;
      await this.#changed.promise;
    }
    return false;
  }

  /** Waits for what was begun, and for what can be begun in time. @throws the first failure */
  async end(): Promise<void> {
    while (this.#isAtWork) await this.#changed.promise;
    if (this.#failed) throw this.#failed.reason;
  }

  /** A line begins anew once nothing of it waits, and those that it shares its room with have left it some. */
  #hasRoomForLeftOut(): boolean {
    for (const [key, left] of this.#leftOut) {
      const line = this.#lines.get(key) ?? left;
      if (line.waiting.length === 0 && hasPlace(line, this.#shares.waiting, 'waiting')) return true;
    }
    return false;
  }

  get #isAtWork(): boolean {
    return this.#all.quick + this.#all.slow > 0;
  }

  #isEnded(begin_ms: number): boolean {
    const began = this.#offeredAt ?? Number.POSITIVE_INFINITY;
    return this.#isStopping() || this.#now() - began >= begin_ms;
  }

  #lineOf({ whom, party, site }: Whose): Line {
    const key = JSON.stringify([whom, party]);
    const known = this.#lines.get(key);
    if (known) return known;
    const loads = {
      all: this.#all,
      site: loadOf(this.#sites, site),
      party: loadOf(this.#parties, JSON.stringify([party, site])),
      line: newLoad(),
    };
    const line: Line = { key, loads, waiting: [], running: [] };
    loads.line.line = line;
    this.#lines.set(key, line);
    return line;
  }

  #goOn(): void {
    for (const lane of LANES) {
      for (let line = this.#chooseNext(lane); line; line = this.#chooseNext(lane)) {
        if (!this.#beginIn(lane, line)) break;
      }
    }
  }

  /** Begins what ends first of a line, if that may begin. */
  #beginIn(lane: Lane, line: Line): boolean {
    const piece = line.waiting[0];
    if (
      !piece ||
      !this.#mayBegin(line) ||
      !this.#isOpen(lane) ||
      !hasPlace(line, this.#shares[lane], lane)
    )
      return false;
    line.waiting.shift();
    count(line, 'waiting', -1);
    this.#begin(lane, line, piece);
    return true;
  }

  #mayBegin({ waiting: [first] }: Line): boolean {
    return (
      first !== undefined && (this.#offeredAt !== undefined || this.#tries.find(first.id) === 0)
    );
  }

  #isSooner(one: Piece, other: Piece): boolean {
    const later = this.#tries.find(one.id) - this.#tries.find(other.id);
    return later === 0 ? one.until < other.until : later < 0;
  }

  #begin(lane: Lane, line: Line, piece: Piece): void {
    const since = this.#now();
    const hurry = this.#slow.find(line.key, since)?.silent === true;
    const one = { lane, since };
    line.running.push(one);
    count(line, lane, 1);
    void this.#do(piece, hurry).then(() => {
      line.running.splice(line.running.indexOf(one), 1);
      count(line, lane, -1);
      this.#note(line, since, hurry);
      this.#forget(line);
      this.#goOn();
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    });
  }

  async #do(piece: Piece, hurry: boolean): Promise<void> {
    try {
      const outcome = await piece.work(hurry);
      if (outcome === 'done') this.#tries.forget(piece.id);
      if (outcome === 'in vain') this.#tries.note(piece.id);
    } catch (reason) {
      // Whatever is the matter with one, the others are not kept waiting for it.
      this.#tries.note(piece.id);
      this.#failed ??= { reason };
    }
  }

  /** What had little time tells nothing: from time to time each has all of it again. */
  #note(line: Line, since: number, hurried: boolean): void {
    const now = this.#now();
    const { slow_ms, silent_ms } = this.#shares;
    if (!hurried && now - since > slow_ms) this.#slow.note(line.key, now, now - since > silent_ms);
  }

  #forget(line: Line): void {
    if (line.waiting.length + line.running.length === 0) this.#lines.delete(line.key);
  }

  /** Also one that has not answered yet, and should have, is slow. */
  #laneOf(line: Line, now: number): Lane {
    const [first] = line.running;
    const isLate = first !== undefined && first.since < now - this.#shares.slow_ms;
    return isLate || this.#slow.find(line.key, now) ? 'slow' : 'quick';
  }

  /** Whether anything of a lane may begin. */
  #isOpen(lane: Lane): boolean {
    if (this.#all[lane] >= this.#shares[lane].all) return false;
    return !this.#isEnded(this.#shares[lane === 'slow' ? 'begin_slow_ms' : 'begin_ms']);
  }

  /** Of those that have a place, for whom least goes on; of those, whose first ends soonest. */
  #chooseNext(lane: Lane): Line | undefined {
    if (!this.#isOpen(lane)) return undefined;
    const now = this.#now();
    const share = this.#shares[lane];
    let best: Line | undefined;
    for (const line of this.#lines.values()) {
      if (!this.#mayBegin(line) || !hasPlace(line, share, lane)) continue;
      if (best && !isBefore(line, best, lane)) continue;
      if (this.#laneOf(line, now) === lane) best = line;
    }
    return best;
  }
}
