import type { Migration } from '../migration.ts';

/**
 * The tokens below one, of a mount, and those that have run out are read in pages, each of which
 * begins where the one before ended: the order of a page is the order of an index.
 */
export const tokenPages: Migration = {
  number: 30,
  name: 'token pages',
  up: () => [
    'create index token_children on token (parent_id, id) where parent_id is not null',
    'drop index token_parent',
    'create index token_ends on token (expires_at, id) where expires_at is not null',
    'drop index token_expiry',
    'create index token_of_mount on token (mount_id, id)',
    'drop index token_mount',
  ],
};
