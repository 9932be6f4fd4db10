import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';
import { IMAGES, OPERATIONS, type Operation } from './0045-config-subjects.ts';

const EVERYBODY = "('u_anon', 'u_auth')";

/**
 * Roles that everybody has are a subject of their own: whoever changes a role of a few makes nobody read
 * those of all again. And a scope that changes is noted by a trigger, so that what is written by hand, or
 * by an older program, is heard of like anything else.
 */
export const everybodysRoles: Migration = {
  number: 65,
  name: "everybody's roles",
  up: (t) => [
    "insert into config_subject (subject, version) values ('broker/everybody', 1)",
    ...STATEMENTS[t.engine],
  ],
};

const any = (operation: Operation, condition: (row: string) => string): string =>
  IMAGES[operation].map(condition).join(' or ');

const isEverybodys = (row: string): string =>
  `(${row}.kind = 'role-principal' and ${row}.to_id in ${EVERYBODY})`;
const isScope = (row: string): string => `${row}.type = 'scope'`;

const hasEverybody = `exists (select 1 from resource_link l
  where l.from_id = new.id and l.kind = 'role-principal' and l.to_id in ${EVERYBODY})`;
const COUNT = "update config_subject set version = version + 1 where subject = 'broker/everybody'";

const LAST = "(select value from resource_sequence where name = 'scope')";
const NEXT = "update resource_sequence set value = value + 1 where name = 'scope'";
const FORGET = `delete from scope_change where seq <= ${LAST} - 1000`;
const noteOf = (row: string): string =>
  `insert into scope_change (seq, id) select ${LAST}, ${row}.id where ${row}.type = 'scope' on conflict do nothing`;

const onSqlite = (operation: Operation): string[] => [
  `create trigger note_everybody_${operation} after ${operation} on resource_link for each row
    when ${any(operation, isEverybodys)} begin ${COUNT}; end`,
  `create trigger tell_scope_${operation} after ${operation} on resource for each row
    when ${any(operation, isScope)}
    begin ${NEXT}; ${IMAGES[operation].map(noteOf).join('; ')}; ${FORGET}; end`,
];

const onPostgres = (operation: Operation): string[] => [
  `create constraint trigger note_everybody_${operation} after ${operation} on resource_link
    deferrable initially deferred for each row when (${any(operation, isEverybodys)})
    execute function note_config_subject('broker/everybody')`,
  // A restored database brings no functions with it, and drops none. A write set that has noted its
  // scopes has the number already, and so has the second of a thousand rows.
  `create or replace function tell_scope_${operation}() returns trigger language plpgsql as $$ begin
    ${NEXT} and xmin <> pg_current_xact_id()::xid;
    ${IMAGES[operation].map(noteOf).join('; ')};
    ${FORGET};
    return null; end $$`,
  `create trigger tell_scope_${operation} after ${operation} on resource for each row
    when (${any(operation, isScope)}) execute function tell_scope_${operation}()`,
];

const STATEMENTS: Readonly<Record<ColumnTypes['engine'], readonly string[]>> = {
  sqlite: [
    ...OPERATIONS.flatMap(onSqlite),
    `create trigger note_everybody_role after update on resource for each row
      when new.type = 'role' and ${hasEverybody} begin ${COUNT}; end`,
  ],
  postgres: [
    ...OPERATIONS.flatMap(onPostgres),
    `create or replace function note_everybody_role() returns trigger language plpgsql as $$ begin
      if ${hasEverybody} then
        ${COUNT};
      end if;
      return null; end $$`,
    `create constraint trigger note_everybody_role after update on resource
      deferrable initially deferred for each row when (new.type = 'role')
      execute function note_everybody_role()`,
  ],
};
