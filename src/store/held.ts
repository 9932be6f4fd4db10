import type { Compilable, Kysely } from 'kysely';
import { preparedWrite } from './database.ts';
import type { Tables } from './tables.ts';
import type { Guard, Value, Write } from './write.ts';

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
export function preparedHold<P extends Record<string, Value>>(
  make: (build: Kysely<Tables>, parameters: P) => Compilable,
  guard: Guard = {},
): (parameters: P) => Write {
  return preparedWrite(make, guard);
}
