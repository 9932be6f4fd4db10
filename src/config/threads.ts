/** Of threads that answer; more are a slip of the hand. */
export const MOST_THREADS = 999;
