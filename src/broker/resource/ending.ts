import type { EndingPages } from '../../app/ended.ts';
import type { Effect } from '../../store/write.ts';

/** Rows of a kind that are left to a removal itself, and ended by each page before. */
export const PAGE = 500;

/** What a change ends before it is made, where that is more than a page. */
export interface Beforehand {
  /** Ends it page by page; each page holds what the change itself stands on, and is refused as that would be. */
  end(work: EndingPages): Promise<unknown>;
  /** What the change stands on besides the version of what is changed. */
  preconditions: readonly Effect[];
}
