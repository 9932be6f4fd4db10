import { sql } from 'kysely';
import { whereKey } from './body-length.ts';
import { compiled, type Db, prepared } from './database.ts';
import type { Tables } from './tables.ts';

/** Tables of which a row has a text, and a tag that tells it from any other that the row has or had. */
type WithTag = {
  [Name in keyof Tables]: 'body_tag' extends keyof Tables[Name] ? Name : never;
}[keyof Tables];

/** A text as it is kept; by its tag a write set can tell that it still is the same. */
export interface TaggedBody {
  body: string;
  body_tag: string;
}

/**
 * Makes the question for a row's text and the tag of it.
 *
 *     const findRole = taggedBody('ssh_role', ['mount_id', 'name']);
 *     const found = await findRole(db, { mount_id, name });
 */
export function taggedBody<Name extends WithTag, Key extends keyof Tables[Name] & string>(
  table: Name,
  key: readonly Key[],
): (db: Db, row: Readonly<Record<Key, string>>) => Promise<TaggedBody | undefined> {
  const question = prepared((_from, p: Record<string, string>) =>
    compiled(
      sql<TaggedBody>`select body, body_tag from ${sql.table(table)} where ${whereKey(key, p)}`,
    ),
  );
  return (db, row) => question.first(db, { ...row });
}
