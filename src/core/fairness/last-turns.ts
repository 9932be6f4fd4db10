/** Those of whom it is remembered; who had no turn for longer is one who had none yet. */
const MOST = 4_096;

/** When somebody had a turn the last time, of as many as were latest. */
export class LastTurns {
  /** The longest ago stands first. */
  readonly #turns = new Map<string, number>();
  readonly #most: number;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** @returns the number of the turn; 0 for none */
  get(key: string): number {
    return this.#turns.get(key) ?? 0;
  }

  set(key: string, turn: number): void {
    this.#turns.delete(key);
    this.#turns.set(key, turn);
    if (this.#turns.size <= this.#most) return;
    for (const oldest of this.#turns.keys()) {
      this.#turns.delete(oldest);
      return;
    }
  }
}
