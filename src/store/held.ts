import { preparedWrite } from './database.ts';

// What is made stands on rows that it does not change: a certificate on its mount and role, a
// session on its target, anything on the token that asked for it. A write set holds those rows by
// a query that ends in a locking clause (docs/adr/0015). Whichever is durable first, the making or
// the removal, the other one sees it.

/**
 * Makes a statement of a query that ends in `forKeyShare`, `forShare` or `forUpdate`. It changes
 * nothing, counts the rows it finds, and keeps them as they are until its write set is durable:
 * with `forKeyShare` they are not removed, with `forShare` not changed either, and with
 * `forUpdate` whoever holds them is waited for.
 *
 * @param guard `rows`: as many must be found, or the write set is refused
 */
export const preparedHold: typeof preparedWrite = preparedWrite;
