import type { Migration } from '../migration.ts';

/** What is revoked, and the lists made of it. */
export const revocation: Migration = {
  number: 6,
  name: 'revocation',
  up: (t) => [
    // Outlives the certificate it tells of, which tidying may remove.
    `create table pki_revocation (
      mount_id ${t.text} not null,
      serial ${t.text} not null,
      issuer_id ${t.text} not null,
      revoked_at_ms ${t.integer} not null,
      reason ${t.integer} not null,
      primary key (mount_id, serial)
    ${t.keyed_table}`,
    'create index pki_revocation_time on pki_revocation (mount_id, revoked_at_ms)',

    `create table pki_crl (
      mount_id ${t.text} not null,
      class ${t.text} not null,
      number ${t.integer} not null,
      revision ${t.integer} not null,
      base ${t.text} not null,
      this_update ${t.integer} not null,
      next_update ${t.integer} not null,
      modified_at_ms ${t.integer} not null,
      der ${t.bytes} not null,
      primary key (mount_id, class)
    ${t.table}`,

    // Grows with every revocation, so that a list can tell what it covers.
    `create table pki_revision (
      mount_id ${t.text} not null primary key,
      revision ${t.integer} not null
    ${t.keyed_table}`,
  ],
};
