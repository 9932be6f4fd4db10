import type { Migration } from '../migration.ts';

/** Issuers say why they were revoked; those that are revoked already have not said it. */
export const reasonsOfIssuers: Migration = {
  number: 92,
  name: 'reasons of issuers',
  up: ({ integer }) => [
    `alter table pki_issuer add column revocation_reason ${integer} not null default 0`,
  ],
};
