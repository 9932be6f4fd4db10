import type { Migration } from '../migration.ts';

/** Certificates are of the cluster that issued them; what was there before is of the one that has no name of its own. */
export const clustersOfCertificates: Migration = {
  number: 102,
  name: 'clusters of certificates',
  up: ({ text }) => [
    `alter table pki_certificate add column clusters ${text} not null default ''`,
    // Those of clusters with names are told from the others, and listed, without reading certificates.
    `create index pki_certificate_clusters on pki_certificate (mount_id, serial, clusters)
      where clusters <> ''`,
    `alter table pki_revocation add column issued_by ${text} not null default ''`,
  ],
};
