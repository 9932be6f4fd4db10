import type { Migration } from '../migration.ts';

/** Revocations are of the clusters that made them; what was there before is of the one that has no name of its own. */
export const clusters: Migration = {
  number: 101,
  name: 'clusters',
  up: ({ text }) => [`alter table pki_revocation add column clusters ${text} not null default ''`],
};
