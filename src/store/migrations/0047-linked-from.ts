import type { Migration } from '../migration.ts';

/** What leads to one resource is read in pages, in the order of what it comes from. */
export const linkedFrom: Migration = {
  number: 47,
  name: 'linked from',
  up: () => [
    'drop index resource_link_to',
    'create index resource_link_to on resource_link (to_id, kind, from_id)',
  ],
};
