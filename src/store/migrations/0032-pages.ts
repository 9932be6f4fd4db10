import type { Migration } from '../migration.ts';

/** Indexes for what is read a page at a time; see `test/plans.test.ts`. */
export const pages: Migration = {
  number: 32,
  name: 'pages',
  up: () => [
    // What a user owns, in the order of lists.
    'create index resource_owner_created on resource (owner_id, type, created_ms, id)',
    'create index resource_owner_updated on resource (owner_id, type, updated_ms, id)',
    'drop index resource_owner',
    // Sessions that go on, among those that are kept for a while after their end.
    'create index session_status on session (status, id)',
    // Secret IDs of a role in the order of their list.
    'create index approle_secret_id_page on approle_secret_id (mount_id, role, accessor)',
    'drop index approle_secret_id_role',
    // They go with their last log-in from now on; those that had it before go here.
    `delete from approle_secret_id where uses_left = 0 and body not like '%,"num_uses":0,%'`,
  ],
};
