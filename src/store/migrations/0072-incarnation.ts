import type { Migration } from '../migration.ts';

/** A restored database is another one than before, for nodes that went on in its place meanwhile. */
export const incarnation: Migration = {
  number: 72,
  name: 'incarnation',
  up: ({ text }) => [
    `alter table config_version add column incarnation ${text} not null default ''`,
  ],
};
