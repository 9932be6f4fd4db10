import type { Migration } from '../migration.ts';

/** What one cluster asks another one to revoke. */
export const revocationRequests: Migration = {
  number: 104,
  name: 'revocation requests',
  up: (t) => [
    `create table pki_revocation_request (
      mount_id ${t.text} not null,
      serial ${t.text} not null,
      cluster ${t.text} not null,
      requested_by ${t.text} not null,
      reason ${t.integer} not null,
      requested_at_ms ${t.integer} not null,
      primary key (mount_id, serial)
    ${t.keyed_table}`,
    `create index pki_revocation_request_cluster
      on pki_revocation_request (cluster, mount_id, serial)`,
    `create index pki_revocation_request_age
      on pki_revocation_request (mount_id, requested_at_ms, serial)`,
  ],
};
