/** Rows of a kind that are left to a removal itself, and ended by each page before. */
export const PAGE = 500;
