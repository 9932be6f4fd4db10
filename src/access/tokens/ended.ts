import { type ExpressionBuilder, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';

// A token that is ended stays as a row until what hangs on it is removed, in pages (`ending/`). That
// it is dead is told by its time, which is before all others: whoever judges times judges it right.

/** Ended with all that descend from it. */
export const ENDED = 0;
/** Ended alone: to those right below it, it is as if it were not there. */
export const ENDED_ALONE = -1;

/** Whether a token was not ended, as a condition: one that has run out was not. */
export function isNotEnded(token: ExpressionBuilder<Tables, 'token'>) {
  return token.or([token('token.expires_at', 'is', null), token('token.expires_at', '>', ENDED)]);
}

export const isNotEndedAlone = (table: 'token' | 'above' | 'one') =>
  sql`(${sql.ref(`${table}.expires_at`)} is null
    or ${sql.ref(`${table}.expires_at`)} <> ${sql.lit(ENDED_ALONE)})`;
