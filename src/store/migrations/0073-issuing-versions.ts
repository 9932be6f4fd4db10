import type { Migration } from '../migration.ts';

/** Whoever is given a certificate is refused by changes of what it rests on, and no others in its mount. */
export const issuingVersions: Migration = {
  number: 73,
  name: 'issuing versions',
  up: ({ integer }) => [
    `alter table pki_authority add column issuing_version ${integer} not null default 0`,
    `alter table pki_issuer add column version ${integer} not null default 0`,
  ],
};
