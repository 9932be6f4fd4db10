/**
 * So many at once, and then as many as are earned again: by the time that goes by, and by whatever else is
 * counted for it.
 */
export class Allowance {
  readonly #most: number;
  readonly #per_second: number;
  readonly #elapsed: () => number;
  #left: number;
  #since: number;

  /** @param elapsed milliseconds of a clock that only goes on */
  constructor(
    { most, per_second }: { most: number; per_second: number },
    elapsed: () => number = () => performance.now(),
  ) {
    this.#most = most;
    this.#per_second = per_second;
    this.#elapsed = elapsed;
    this.#left = most;
    this.#since = elapsed();
  }

  earn(count: number): void {
    this.#left = Math.min(this.#most, this.#left + count);
  }

  /** Takes one, where there is one. */
  take(): boolean {
    const now = this.#elapsed();
    this.earn(((now - this.#since) / 1000) * this.#per_second);
    this.#since = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
