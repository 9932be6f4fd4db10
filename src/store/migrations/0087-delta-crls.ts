import type { Migration } from '../migration.ts';

/** Delta CRLs lie beside the complete ones, and share their numbers. */
export const deltaCrls: Migration = {
  number: 87,
  name: 'delta CRLs',
  up: ({ integer }) => [
    // Of a complete CRL: the last number that it or a delta of it has had.
    `alter table pki_crl add column last_number ${integer} not null default 0`,
    'update pki_crl set last_number = number',
    // When what the addresses of delta CRLs show last changed, but for what changes the complete ones as well.
    `alter table pki_revision add column deltas_modified_at_ms ${integer} not null default 0`,
  ],
};
