import type { KeptTable, WriteCounts } from './write-counts.ts';

/** Those who keep something of what is stored, told of what was written to it by whatever thread. */
export class WriteListeners {
  readonly #counts: WriteCounts;
  readonly #ofTables = new Map<KeptTable, Set<() => void>>();
  readonly #ofConfig = new Set<(version: number) => void>();

  constructor(counts: WriteCounts) {
    this.#counts = counts;
  }

  /** See `Store.onWrite`. */
  onWrite(table: KeptTable, listener: () => void): void {
    this.#ofTables.getOrInsertComputed(table, () => new Set()).add(listener);
  }

  /** See `Store.onConfigChange`. */
  onConfigChange(listener: (version: number) => void): void {
    this.#ofConfig.add(listener);
  }

  /** See `Store.seen`. */
  seen(of: KeptTable | 'config'): number {
    return this.#counts.seen(of);
  }

  /** See `Store.catchUp`. */
  catchUp(): void {
    const { config, tables } = this.#counts.look();
    for (const table of tables) for (const listener of this.#ofTables.get(table) ?? []) listener();
    if (config === undefined) return;
    for (const listener of this.#ofConfig) listener(config);
  }
}
