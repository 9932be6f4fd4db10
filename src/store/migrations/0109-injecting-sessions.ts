import type { Migration } from '../migration.ts';

/** A session says whether its worker logs in for the client: also when what it would do so by is gone meanwhile. */
export const injectingSessions: Migration = {
  number: 109,
  name: 'injecting sessions',
  up: ({ integer }) => [`alter table session add column injects ${integer} not null default 0`],
};
