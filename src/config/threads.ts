/** Of threads that answer; more are a slip of the hand. */
export const MOST_THREADS = 999;

/** How many threads answer, once that is settled, which it is before anything is built: what is built apart has one. */
export const threadsOf = ({ threads = 1 }: { threads: number | undefined }): number => threads;
