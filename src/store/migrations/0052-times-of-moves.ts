import type { Migration } from '../migration.ts';

/** What is remembered of moved mounts has an end. */
export const timesOfMoves: Migration = {
  number: 52,
  name: 'times of moves',
  up: (t) => [
    `alter table remount add column moved_at ${t.integer} not null default 0`,
    'create index remount_time on remount (moved_at)',
  ],
};
