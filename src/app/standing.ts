import type { Write } from '../store/write.ts';

/** The rows that a request's permission rests on, as they were when it was judged. */
export interface Standing {
  /** As its footing has it: with those above it, what the request stands on itself. */
  readonly token_id: string | undefined;
  /** Of what was permitted; undefined where permission does not depend on what is configured. */
  readonly version: number | undefined;
  /**
   * What refuses a write set once one of the rows is gone or is not what it was.
   *
   * @param changes the write set itself changes what somebody is permitted
   */
  guards(changes: boolean): readonly Write[];
  /**
   * Judges the request again by what is there now.
   *
   * @throws Failure as the request would be refused if it came now
   */
  renew(): Promise<Standing>;
}

/** The row of a token, and not of another that is made with the same chosen id later. */
export type TokenRowKey = {
  id: string;
  /** Empty where nobody knows: a batch token of an older server does not name its parent's. */
  accessor: string;
};

/** What a caller came with and by, in the terms of its rows. */
export interface Footing {
  /** The row of the token, or of the one that a batch token was made by; undefined without. */
  token: TokenRowKey | undefined;
  /** Whether there are tokens above that one, with which it ends. */
  has_line: boolean;
  /** The mount that the path led to; undefined for those that are always there. */
  mount: { id: string; path: string } | undefined;
  version: number | undefined;
}
