import type { Traffic } from './upstream.ts';

/** Which connections have carried anything since that was last noted. */
export class ChangedTraffic {
  #noted = new Map<string, number>();

  of(open: readonly Traffic[]): Traffic[] {
    return open.filter((one) => this.#noted.get(one.connection_id) !== sumOf(one));
  }

  /** They are: what could not be noted is told again. @param open all that are open; others are forgotten */
  note(open: readonly Traffic[]): void {
    this.#noted = new Map(open.map((one) => [one.connection_id, sumOf(one)]));
  }
}

const sumOf = ({ bytes_up, bytes_down }: Traffic): number => bytes_up + bytes_down;
