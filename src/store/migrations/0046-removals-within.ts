import type { Migration } from '../migration.ts';

/**
 * What was removed is asked for container by container, however much others removed meanwhile; and
 * what is forgotten is found by its time. Scopes that change are numbered in the order in which they do.
 */
export const removalsWithin: Migration = {
  number: 46,
  name: 'removals within containers',
  up: (t) => [
    'create index resource_removed_within on resource_removed (container_id, type, seq, id)',
    'create index resource_removed_time on resource_removed (removed_ms)',
    "insert into resource_sequence (name, value) values ('scope', 0)",
    `create table scope_change (
      seq ${t.integer} not null,
      id ${t.text} not null,
      primary key (seq, id)
    ${t.keyed_table}`,
  ],
};
