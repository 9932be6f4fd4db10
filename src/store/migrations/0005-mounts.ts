import type { Migration } from '../migration.ts';

export const mounts: Migration = {
  number: 5,
  name: 'mounts',
  up: ({ text, keyed_table, table }) => [
    `create table mount (
       id ${text} primary key,
       kind ${text} not null,
       path ${text} not null,
       type ${text} not null,
       accessor ${text} not null unique,
       body ${text} not null,
       unique (kind, path)
     ${table}`,
    `create table remount (
       id ${text} primary key,
       source ${text} not null,
       target ${text} not null,
       status ${text} not null
     ${keyed_table}`,
  ],
};
