import type { Migration } from '../migration.ts';

/** Revoked issuers that were removed: their certificates are known as revoked ones when they are imported anew. */
export const revokedIssuers: Migration = {
  number: 103,
  name: 'revoked issuers',
  up: (t) => [
    `create table pki_revoked_issuer (
      mount_id ${t.text} not null,
      tbs_sha256 ${t.text} not null,
      revoked_at_ms ${t.integer} not null,
      reason ${t.integer} not null,
      primary key (mount_id, tbs_sha256)
    ${t.keyed_table}`,
  ],
};
