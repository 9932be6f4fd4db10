import { BoundedMap } from '../core/bounded-map.ts';
import { whoAsks } from '../core/fairness/asking.ts';
import { networkOfParty } from '../core/fairness/party.ts';

/** What was long is taken to be so for so many milliseconds. */
const LATELY_MS = 2_000;
/** Networks and statements that are remembered; the longest ago goes first. */
const MOST = 4_096;

/**
 * Recent long reads, by statement and network: nothing tells beforehand how long an answer will be, and whoever asks for
 * long values mostly does so again.
 */
export class LongOfLate {
  /** When it was, in milliseconds of a clock that only goes on. */
  readonly #at = new BoundedMap<number>(MOST);
  /** Most statements are never long, and who asks is worked out for the others alone. */
  readonly #statements = new Set<string>();

  note(sql: string, now = performance.now()): void {
    this.#statements.add(sql);
    this.#at.set(keyOf(sql), now);
    if (this.#statements.size > MOST) this.#statements.clear();
  }

  has(sql: string, now = performance.now()): boolean {
    if (!this.#statements.has(sql)) return false;
    const at = this.#at.get(keyOf(sql));
    return at !== undefined && now - at < LATELY_MS;
  }
}

const keyOf = (sql: string): string => `${networkOfParty(whoAsks().party)} ${sql}`;
