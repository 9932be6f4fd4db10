import type { Migration } from '../migration.ts';

/**
 * What a library or a stored credential gave to sessions is found by it, leases of a mount by whether they
 * go on, and aliases of a mount that is gone by its accessor. A lease of a session is called `broker/sessions/s_…/` with an id of ten letters, the library
 * that made it, and 24 letters more.
 */
export const sourcePages: Migration = {
  number: 39,
  name: 'source pages',
  up: ({ text }) => [
    `alter table removed_mount add column accessor ${text} not null default ''`,
    `alter table lease add column source_id ${text}`,
    `update lease set source_id = substr(id, 30, length(id) - 54)
      where id >= 'broker/sessions/' and id < 'broker/sessions0' and length(id) > 54`,
    'create index lease_source on lease (source_id, expires_at) where source_id is not null',
    'drop index lease_mount',
    'create index lease_mount on lease (mount_id, expires_at)',
    'drop index resource_scope',
    'create index resource_scope on resource (scope_id, type)',
    'create index session_credential_source on session_credential (source_id, session_id)',
  ],
};
