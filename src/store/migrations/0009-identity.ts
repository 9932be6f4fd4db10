import type { Migration } from '../migration.ts';

export const identity: Migration = {
  number: 9,
  name: 'identity',
  up: ({ text, integer, table, keyed_table }) => [
    `create table identity_entity (
       id ${text} not null primary key,
       name ${text} not null,
       name_key ${text} not null unique,
       version ${integer} not null,
       created_at_ms ${integer} not null,
       updated_at_ms ${integer} not null,
       body ${text} not null
     ${table}`,
    `create table identity_alias (
       id ${text} not null primary key,
       entity_id ${text} not null references identity_entity (id) on delete cascade,
       mount_accessor ${text} not null,
       name ${text} not null,
       name_key ${text} not null,
       created_at_ms ${integer} not null,
       updated_at_ms ${integer} not null,
       body ${text} not null,
       unique (mount_accessor, name_key),
       unique (entity_id, mount_accessor)
     ${table}`,
    `create table identity_group (
       id ${text} not null primary key,
       name ${text} not null,
       name_key ${text} not null unique,
       version ${integer} not null,
       created_at_ms ${integer} not null,
       updated_at_ms ${integer} not null,
       body ${text} not null
     ${table}`,
    `create table identity_group_member (
       group_id ${text} not null references identity_group (id) on delete cascade,
       kind ${text} not null,
       member_id ${text} not null,
       primary key (group_id, kind, member_id)
     ${keyed_table}`,
    'create index identity_group_member_of on identity_group_member (member_id, kind)',
    `create table identity_group_alias (
       id ${text} not null primary key,
       group_id ${text} not null unique references identity_group (id) on delete cascade,
       mount_accessor ${text} not null,
       name ${text} not null,
       created_at_ms ${integer} not null,
       updated_at_ms ${integer} not null,
       unique (mount_accessor, name)
     ${table}`,
  ],
};
