import type { Asker } from './asker.ts';

/** Holds answers back for a while, so that those who ask again at once ask seldom. */
export class Patience {
  readonly #milliseconds: number;
  readonly #most: number;
  readonly #held = new Set<() => void>();

  /** @param most that are held back at the same time */
  constructor(milliseconds: number, most: number) {
    this.#milliseconds = milliseconds;
    this.#most = most;
  }

  /** Waits, unless too many do or the asker goes. */
  wait({ onGone }: Pick<Asker, 'onGone'>): Promise<void> {
    if (this.#held.size >= this.#most) return Promise.resolve();
    return new Promise((resolve) => {
      const forget: (() => void)[] = [];
      const end = (): void => {
        this.#held.delete(end);
        for (const one of forget) one();
        resolve();
      };
      this.#held.add(end);
      const timer = setTimeout(end, this.#milliseconds);
      forget.push(() => clearTimeout(timer));
      if (onGone) forget.push(onGone(end));
    });
  }

  /** Lets everybody go. */
  end(): void {
    for (const end of this.#held) end();
  }
}
