import type { Migration } from '../migration.ts';

/** What those who asked for certificates want to be kept with them. */
export const certificateMetadata: Migration = {
  number: 84,
  name: 'certificate metadata',
  up: (t) => [
    // By itself: a certificate need not be stored for it, and may be removed without it.
    `create table pki_certificate_metadata (
      mount_id ${t.text} not null,
      serial ${t.text} not null,
      issuer_id ${t.text} not null,
      role ${t.text} not null,
      not_after ${t.integer} not null,
      data ${t.bytes} not null,
      primary key (mount_id, serial)
    ${t.table}`,
    // What has ended is tidied up in this order.
    `create index pki_certificate_metadata_end
      on pki_certificate_metadata (mount_id, not_after, serial)`,
  ],
};
