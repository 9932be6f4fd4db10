import type { Migration } from '../migration.ts';

/** Since when a further cluster has a revocation: that of those that had it stays, and so do the CRLs made of it. */
export const joinedRevocations: Migration = {
  number: 108,
  name: 'joined revocations',
  up: ({ text, integer }) => [
    `alter table pki_revocation add column joined ${text} not null default ''`,
    `alter table pki_revocation add column joined_revision ${integer}`,
    `create index pki_revocation_joined on pki_revocation (mount_id, joined_revision)
      where joined_revision is not null`,
  ],
};
