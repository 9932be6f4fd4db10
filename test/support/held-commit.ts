import type { Store } from '../../src/store/store.ts';
import { type Effect, isAuditEntry } from '../../src/store/write.ts';

/** A commit that waits until it is let go. */
export interface HeldCommit {
  /** Resolves when a request has decided and is about to write. */
  reached: Promise<void>;
  letGo(): void;
}

/** Stands between a server and its store, and can hold a request between its plan and its commit. */
export class CommitHolder {
  #held:
    | { path: string; what: 'change' | 'record'; reached(): void; gone: Promise<void> }
    | undefined;

  #pressed: { path: string; press(attempt: number): Promise<void>; attempts: number } | undefined;

  /** Gives a server its store. */
  readonly over = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      const held = this.#held;
      // A record alone tells of a refusal, perhaps of one that was answered before.
      const what = effects.every(isAuditEntry) ? 'record' : 'change';
      if (held?.what === what && effects.some((effect) => pathOf(effect) === held.path)) {
        this.#held = undefined;
        held.reached();
        await held.gone;
      }
      const pressed = this.#pressed;
      if (pressed && what === 'change' && effects.some((one) => pathOf(one) === pressed.path)) {
        pressed.attempts += 1;
        await pressed.press(pressed.attempts);
      }
      return real.commit(effects);
    },
  });

  /**
   * Has something done whenever a request to this path is about to write.
   *
   * @returns ends that, and says how often it was
   */
  press(path: string, press: (attempt: number) => Promise<void>): () => number {
    const pressed = { path, press, attempts: 0 };
    this.#pressed = pressed;
    return () => {
      this.#pressed = undefined;
      return pressed.attempts;
    };
  }

  /** Holds the next write set, or the next record alone, of a request to this path. */
  hold(path: string, what: 'change' | 'record' = 'change'): HeldCommit {
    const reached = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    this.#held = { path, what, reached: reached.resolve, gone: gone.promise };
    return { reached: reached.promise, letGo: gone.resolve };
  }
}

function pathOf(effect: Effect): string | undefined {
  if (!isAuditEntry(effect)) return undefined;
  const record: { request?: { path?: string } } = JSON.parse(effect.audit);
  return record.request?.path;
}
