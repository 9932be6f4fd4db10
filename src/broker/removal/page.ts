import type { EndingPages } from '../../access/ended.ts';
import type { EndedCounts } from '../../core/ended-counts.ts';
import type { Effect } from '../../store/write.ts';

/** Rows of a kind that are left to a removal itself, and ended by each page before. */
export const PAGE = 500;

/** Who ends, and what is left to the end. */
export interface EndingWork {
  /** Commits a page, which ends so much. */
  commit(effects: readonly Effect[], ended: EndedCounts): Promise<void>;
  /** Log-ins of whoever ends: theirs, or those that their token was made from. */
  own_log_in_ids: readonly string[];
  /** See {@link EndingPages}. */
  ending?: EndingPages['ending'];
}

/** What a change ends before it is made, where that is more than a page. */
export interface Beforehand {
  /** Ends it page by page; each page holds what the change itself stands on, and is refused as that would be. */
  end(work: EndingWork): Promise<unknown>;
  /** What the change stands on besides the version of what is changed. */
  grounds: readonly Effect[];
}
