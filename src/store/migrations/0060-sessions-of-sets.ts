import type { Migration } from '../migration.ts';

/**
 * Sessions through a set of hosts are found by the set, and those to a target or through a host by the set as
 * well: what a target or a host has besides may be much.
 */
export const sessionsOfSets: Migration = {
  number: 60,
  name: 'sessions of sets',
  up: () => [
    'drop index session_of_target',
    'create index session_of_target on session (target_id, host_set_id, status)',
    'drop index session_of_host',
    "create index session_of_host on session (host_id, host_set_id, status) where host_id <> ''",
    "create index session_of_set on session (host_set_id) where host_set_id <> ''",
  ],
};
