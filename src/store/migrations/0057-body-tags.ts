import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';

type Keyed = readonly [table: string, key: readonly string[]];

/** Rows that other write sets rest on, with their keys. */
const TABLES: readonly Keyed[] = [
  ['mount', ['id']],
  ['pki_role', ['mount_id', 'name']],
  ['userpass_user', ['mount_id', 'name']],
  ['approle_role', ['mount_id', 'name']],
  ['token_role', ['name']],
];

/**
 * A body may have megabytes, and what rests on it says with every request which body it was: by a tag of
 * some thirty characters that no other body has or had. The database writes it with the body, so that no write set
 * can change the one and forget the other.
 */
export const bodyTags: Migration = {
  number: 57,
  name: 'body tags',
  up: (t) => [...(t.engine === 'postgres' ? [defineTag(t)] : []), ...tagBodies(t, TABLES)],
};

/** Gives the bodies of tables their tags: on PostgreSQL by the function that {@link bodyTags} defines. */
export function tagBodies(t: ColumnTypes, tables: readonly Keyed[]): string[] {
  return tables.flatMap(([table, key]) =>
    t.engine === 'sqlite' ? tagOnSqlite(t, table, key) : tagOnPostgres(t, table),
  );
}

const RANDOM = 'lower(hex(randomblob(16)))';

function tagOnSqlite(t: ColumnTypes, table: string, key: readonly string[]): string[] {
  const same = key.map((column) => `${column} = new.${column}`).join(' and ');
  const tag = `begin update ${table} set body_tag = ${RANDOM} where ${same}; end`;
  return [
    `alter table ${table} add column body_tag ${t.text} not null default ''`,
    `update ${table} set body_tag = ${RANDOM}`,
    // A row that comes from a backup brings its own.
    `create trigger tag_${table}_insert after insert on ${table} for each row
      when new.body_tag = '' ${tag}`,
    `create trigger tag_${table}_update after update of body on ${table} for each row
      when new.body <> old.body ${tag}`,
  ];
}

function tagOnPostgres(t: ColumnTypes, table: string): string[] {
  return [
    `alter table ${table} add column body_tag ${t.text} not null default (${uuid(t)})`,
    `create trigger tag_${table}_update before update of body on ${table} for each row
      when (new.body <> old.body) execute function tag_body()`,
  ];
}

/** A restored database brings no functions with it, and drops none. */
const defineTag = (
  t: ColumnTypes,
): string => `create or replace function tag_body() returns trigger language plpgsql as
  $$ begin new.body_tag := ${uuid(t)}; return new; end $$`;

const uuid = ({ text }: ColumnTypes): string => `gen_random_uuid()::${text}`;
