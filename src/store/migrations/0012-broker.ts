import type { Migration } from '../migration.ts';

/** What the access broker keeps: its resources, how they are linked, and which were removed. */
export const broker: Migration = {
  number: 12,
  name: 'broker',
  up: (t) => [
    `create table resource (
      id ${t.text} not null primary key,
      type ${t.text} not null,
      subtype ${t.text} not null,
      scope_id ${t.text} not null,
      container_id ${t.text} not null,
      owner_id ${t.text} not null,
      name ${t.text},
      description ${t.text},
      unique_key ${t.text},
      version ${t.integer} not null,
      created_ms ${t.integer} not null,
      updated_ms ${t.integer} not null,
      body ${t.text} not null,
      secret_sealed ${t.bytes}
    ${t.table}`,
    'create unique index resource_name on resource (container_id, type, name)',
    'create unique index resource_key on resource (type, unique_key)',
    'create index resource_created on resource (container_id, type, created_ms, id)',
    'create index resource_updated on resource (container_id, type, updated_ms, id)',
    // Lists over many scopes walk these in order and look at the container on the way.
    'create index resource_type_created on resource (type, created_ms, id, container_id)',
    'create index resource_type_updated on resource (type, updated_ms, id, container_id)',
    'create index resource_owner on resource (owner_id, type)',
    'create index resource_scope on resource (scope_id)',

    // What a link binds is there as long as the link is, also when nodes write at the same time.
    `create table resource_link (
      from_id ${t.text} not null references resource (id) on delete cascade,
      kind ${t.text} not null,
      to_id ${t.text} not null references resource (id) on delete cascade,
      primary key (from_id, kind, to_id)
    ${t.keyed_table}`,
    'create index resource_link_to on resource_link (to_id, kind)',

    // One row; whoever removes takes the next number and holds the row until the removal is
    // durable, so numbers become visible in their order.
    `create table resource_sequence (
      name ${t.text} not null primary key,
      value ${t.integer} not null
    ${t.keyed_table}`,
    "insert into resource_sequence (name, value) values ('removed', 0)",

    `create table resource_removed (
      type ${t.text} not null,
      seq ${t.integer} not null,
      id ${t.text} not null,
      container_id ${t.text} not null,
      removed_ms ${t.integer} not null,
      primary key (type, seq, id)
    ${t.keyed_table}`,
  ],
};
