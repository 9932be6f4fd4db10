/**
 * After so long without a byte the system asks whether the other machine is still there. Nobody's silence is
 * held against him: a machine that is there answers by itself, one that has not answered for ten seconds is gone.
 */
export const KEEP_ALIVE_MS = 30_000;
