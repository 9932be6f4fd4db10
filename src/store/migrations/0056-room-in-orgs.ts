import type { ColumnTypes } from '../columns.ts';
import type { Migration } from '../migration.ts';

const TYPES = "('role', 'group')";
const KINDS = "('role-principal', 'group-member')";

/** The org that something lies in, or `global`, by what it lies in itself. */
const orgOf = (container_id: string): string =>
  `coalesce((select case when s.container_id in ('', 'global') then s.id else s.container_id end
    from resource s where s.id = ${container_id}), ${container_id})`;

const insertRow = `insert into resource_room (org_id, type, scope_id, id, links)
  values (${orgOf('new.container_id')}, new.type, new.container_id, new.id, 0) on conflict do nothing`;

/**
 * How much an org has of what it may have so much of: its roles and groups, each with the number of its links.
 * Ten thousand short rows that lie together are summed up where a hundred thousand links would be counted.
 * Triggers keep them, so that nothing is removed, with whatever else, and still counts. A backup is copied table
 * by table in the order of their names: this one comes behind those whose rows it counts, and stays as it was.
 */
export const roomInOrgs: Migration = {
  number: 56,
  name: 'room in orgs',
  up: (t) => [
    `create table resource_room (
      org_id ${t.text} not null,
      type ${t.text} not null,
      scope_id ${t.text} not null,
      id ${t.text} not null unique references resource (id) on delete cascade,
      links ${t.integer} not null,
      primary key (org_id, type, scope_id, id)
    ${t.keyed_table}`,
    `insert into resource_room (org_id, type, scope_id, id, links)
      select ${orgOf('r.container_id')}, r.type, r.container_id, r.id,
        (select count(*) from resource_link l where l.from_id = r.id and l.kind in ${KINDS})
      from resource r where r.type in ${TYPES}`,
    ...TRIGGERS[t.engine],
  ],
};

/** A statement adds or removes many links of one thing: on PostgreSQL it counts them at once. */
const countAll = (operation: 'insert' | 'delete'): string[] => {
  const [image, sign] = operation === 'insert' ? ['new', '+'] : ['old', '-'];
  const name = `count_links_${operation}`;
  return [
    // A restored database brings no functions with it, and drops none.
    `create or replace function ${name}() returns trigger language plpgsql as $$ begin
      if exists (select from changed where kind in ${KINDS}) then
        update resource_room r set links = r.links ${sign} counted.n
          from (select from_id, count(*) as n from changed where kind in ${KINDS} group by from_id) counted
          where r.id = counted.from_id;
      end if;
      return null; end $$`,
    `create trigger ${name} after ${operation} on resource_link
      referencing ${image} table as changed for each statement execute function ${name}()`,
  ];
};

const countEach = (operation: 'insert' | 'delete'): string => {
  const [image, sign] = operation === 'insert' ? ['new', '+'] : ['old', '-'];
  return `create trigger count_links_${operation} after ${operation} on resource_link for each row
    when ${image}.kind in ${KINDS}
    begin update resource_room set links = links ${sign} 1 where id = ${image}.from_id; end`;
};

const TRIGGERS: Readonly<Record<ColumnTypes['engine'], readonly string[]>> = {
  sqlite: [
    `create trigger make_room after insert on resource for each row when new.type in ${TYPES}
      begin ${insertRow}; end`,
    countEach('insert'),
    countEach('delete'),
  ],
  postgres: [
    `create or replace function make_room() returns trigger language plpgsql as $$
      begin ${insertRow}; return null; end $$`,
    `create trigger make_room after insert on resource for each row when (new.type in ${TYPES})
      execute function make_room()`,
    ...countAll('insert'),
    ...countAll('delete'),
  ],
};
