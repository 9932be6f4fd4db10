import type { Migration } from '../migration.ts';

/** A seal that was to follow is gone once it does, or another one did: whoever has its shares could open it. */
export const replacedSeals: Migration = {
  number: 64,
  name: 'replaced seals',
  up: () => ['delete from seal_next where generation <= (select max(generation) from seal)'],
};
