import type { Migration } from '../migration.ts';

/** Of a certificate that is not known any more: the last second that there is (RFC 5280 §4.1.2.5). */
const NEVER = 253_402_300_799;

/** Entries leave a CRL once their certificate has run out and a later CRL has shown them. */
export const expiredEntries: Migration = {
  number: 88,
  name: 'expired entries',
  up: ({ integer }) => [
    `alter table pki_revocation add column not_after ${integer} not null default ${NEVER}`,
    `update pki_revocation set not_after = coalesce((select pki_certificate.not_after from pki_certificate
      where pki_certificate.mount_id = pki_revocation.mount_id and pki_certificate.serial = pki_revocation.serial), ${NEVER})`,
    'create index pki_revocation_end on pki_revocation (mount_id, not_after, serial)',
    `alter table pki_crl add column entries ${integer} not null default 0`,
    // Which entries are not on it any more: see `Past` in `crl/builder/job.ts`.
    `alter table pki_crl add column ended_before ${integer} not null default 0`,
    `alter table pki_crl add column ended_revision ${integer} not null default 0`,
  ],
};
