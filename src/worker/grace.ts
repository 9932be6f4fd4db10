/**
 * How long what is carried goes on while its worker and the server cannot speak to each other: then
 * the worker ends it, and the server takes it to be ended.
 */
export const GRACE_MS = 15_000;
