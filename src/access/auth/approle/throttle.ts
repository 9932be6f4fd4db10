import { BoundedMap } from '../../../core/bounded-map.ts';

/** Failures within a minute after which no more log-ins are looked at. */
const MOST = 20;
const PERIOD = 60;
/** Pairs of address and role ID that are remembered; beyond, the oldest is forgotten. */
const ROOM = 10_000;

/**
 * Counts failed log-ins by where they come from and the role ID they name. In memory, of this
 * node: a secret ID is no password that could be guessed, so this only keeps the load down.
 */
export class Throttle {
  readonly #counts = new BoundedMap<{ since: number; failures: number }>(ROOM);

  /** @param now Unix seconds */
  isOpen(key: string, now: number): boolean {
    const found = this.#counts.get(key);
    return !found || now >= found.since + PERIOD || found.failures < MOST;
  }

  fail(key: string, now: number): void {
    const found = this.#counts.get(key);
    if (found && now < found.since + PERIOD) {
      found.failures += 1;
      return;
    }
    this.#counts.set(key, { since: now, failures: 1 });
  }
}
