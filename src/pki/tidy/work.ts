import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Effect } from '../../store/write.ts';
import type { TidyFlag, TidyRequest } from './fields.ts';
import type { TidyCounts } from './status.ts';

/** One tidying, as its works see it. */
export interface TidyWork {
  app: App;
  mount_id: string;
  /** Who does it: the server. */
  caller: Caller;
  request: TidyRequest;
  /** Unix seconds when it was begun. */
  now: number;
  /** Most rows of a page. */
  limit: number;
  /** Refuses a write set that a work commits by itself once another node tidies. */
  fence(): Effect;
}

/** What one write set does. In a dry run its effects are left out. */
export interface TidyPage {
  effects: readonly Effect[];
  counts: Partial<TidyCounts>;
  /** How many of the rows that were to go. */
  rows: number;
}

/** One of the works of a tidying. */
export interface TidyOperation {
  flag: TidyFlag;
  /** How many rows are to go, a page at a time, where that takes no longer than to read their keys. */
  estimate?(work: TidyWork): AsyncGenerator<number>;
  /**
   * What is to be done, a page at a time; a page is durable when the next one is asked for. Begun anew after a crash,
   * when what was done is not there any more.
   */
  pages(work: TidyWork): AsyncGenerator<TidyPage>;
}
