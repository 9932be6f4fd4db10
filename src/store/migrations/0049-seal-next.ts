import type { Migration } from '../migration.ts';

/** The seal that a rekeying is about to put in force, as JSON: it is known by then that its shares open it. */
export const sealNext: Migration = {
  number: 49,
  name: 'seal next',
  up: (t) => [
    `create table seal_next (
      id ${t.integer} not null primary key,
      generation ${t.integer} not null,
      body ${t.text} not null
    ${t.keyed_table}`,
  ],
};
