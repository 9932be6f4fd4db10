import type { Migration } from '../migration.ts';

export const foundation: Migration = {
  number: 1,
  name: 'foundation',
  up: (t) => [
    `create table config_version (
      id ${t.integer} not null primary key check (id = 1),
      version ${t.integer} not null
    ${t.table}`,
    'insert into config_version (id, version) values (1, 1)',

    `create table job_lease (
      name ${t.text} not null primary key,
      holder ${t.text} not null,
      expires_at_ms ${t.integer} not null,
      fence ${t.integer} not null
    ${t.keyed_table}`,

    `create table audit_entry (
      node ${t.text} not null,
      seq ${t.integer} not null,
      time_ms ${t.integer} not null,
      record ${t.text} not null,
      prev_hash ${t.bytes} not null,
      hash ${t.bytes} not null,
      primary key (node, seq)
    ${t.keyed_table}`,

    `create table audit_sink (
      name ${t.text} not null,
      node ${t.text} not null,
      seq ${t.integer} not null,
      primary key (name, node)
    ${t.keyed_table}`,
  ],
};
