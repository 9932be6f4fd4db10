import type { Migration } from '../migration.ts';

/** What goes with the audit trail: where chains were cut, devices, and failed log-ins. */
export const audit: Migration = {
  number: 7,
  name: 'audit',
  up: (t) => [
    // The last record that was deleted of each chain: the rest is verified from it.
    `create table audit_cut (
      node ${t.text} not null primary key,
      seq ${t.integer} not null,
      hash ${t.bytes} not null
    ${t.keyed_table}`,

    `create table audit_device (
      path ${t.text} not null primary key,
      type ${t.text} not null,
      body ${t.text} not null
    ${t.table}`,

    // Of names that exist and of those that do not, by keyed hash.
    `create table login_failure (
      id ${t.text} not null primary key,
      failures ${t.integer} not null,
      last_failed_at ${t.integer} not null
    ${t.keyed_table}`,
    'create index login_failure_time on login_failure (last_failed_at)',
  ],
};
