/** Who is asked something, and for whom, as far as sharing it out is concerned. */
export interface Whose {
  /** Who is asked. */
  whom: string;
  /** For whom. */
  party: string;
  /** What the party lies in together with others that are likely one. */
  site: string;
}

/** One thing to do. */
export interface Piece {
  /** What is offered again under the same id is done once. */
  id: string;
  whose: Whose;
  /** What ends sooner goes first, of what was not asked in vain before. */
  until: number;
  /** @param hurry whoever is asked was silent lately: little time is to be spent on it */
  work(hurry: boolean): Promise<Outcome>;
}

/** What came of asking. What was not asked this time, as nobody would have answered, has not had its try. */
export type Outcome = 'done' | 'in vain' | 'not asked';
