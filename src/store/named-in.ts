import { type RawBuilder, sql } from 'kysely';

/**
 * Thousands of ids, each named once, as a query for them: one parameter, which both engines read as the keys of
 * an object. A parameter for each would take longer to send and to plan for than what is done with the ids.
 */
export function namedIn(ids: readonly string[]): RawBuilder<{ key: string }> {
  const text = `{${ids.map((id) => `${JSON.stringify(id)}:0`).join()}}`;
  return sql`(select key from json_each(${text}))`;
}
