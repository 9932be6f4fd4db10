import type { Migration } from '../migration.ts';

/** Sessions that go on, of a target or through a host, are found among all that are kept. */
export const sessionPages: Migration = {
  number: 38,
  name: 'session pages',
  up: () => [
    'create index session_of_target on session (target_id, status)',
    'drop index session_target',
    "create index session_of_host on session (host_id, status) where host_id <> ''",
    'drop index session_host',
  ],
};
