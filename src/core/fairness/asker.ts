/** Who asks for costly work, as far as sharing it out is concerned. */
export interface Asker {
  /** Those of one party share what one party may have; see `partyOf`. */
  party: string;
  /**
   * What the party lies in together with others that are likely one; the party itself unless told. Of an address it
   * tells the network, too.
   */
  site?: string;
  /** Whose turn comes sooner the lower it is; 0 unless told. See `Places.preference`. */
  rank?: number;
  /**
   * Calls a listener once the asker has gone before being answered.
   *
   * @returns what takes the listener away again
   */
  onGone?: ((listener: () => void) => () => void) | undefined;
  /** How much work it is; 1 unless there is work of several sizes. */
  weight?: number;
}
