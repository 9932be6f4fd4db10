import type { Migration } from '../migration.ts';

/** A host set that goes on without thousands of its hosts ends sessions that go on: those are found by the set. */
export const liveSessionsOfSets: Migration = {
  number: 67,
  name: 'live sessions of sets',
  up: () => [
    'drop index session_of_set',
    "create index session_of_set on session (host_set_id, status) where host_set_id <> ''",
  ],
};
