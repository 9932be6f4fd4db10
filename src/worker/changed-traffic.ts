import type { Traffic } from './upstream.ts';

/** Which connections have carried anything since they were looked at last. */
export class ChangedTraffic {
  #told = new Map<string, number>();

  /** @param open all that are open; others are forgotten */
  of(open: readonly Traffic[]): Traffic[] {
    const before = this.#told;
    this.#told = new Map();
    return open.filter(({ connection_id, bytes_up, bytes_down }) => {
      const sum = bytes_up + bytes_down;
      this.#told.set(connection_id, sum);
      return before.get(connection_id) !== sum;
    });
  }
}
