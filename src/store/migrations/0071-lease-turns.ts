import type { Migration } from '../migration.ts';

/** Leases that are due are ended in turns, by mount and by whoever had them: they have an index of their own. */
export const leaseTurns: Migration = {
  number: 71,
  name: 'lease turns',
  up: ({ text }) => [
    `alter table lease add column turn ${text}`,
    'create index lease_turn on lease (mount_id, turn, id) where turn is not null',
    'drop index lease_unbound',
    `create index lease_unbound on lease (id)
      where bound = 1 and token_id is null and alias_id is null and turn is null`,
    'drop index lease_expiry',
    'create index lease_expiry on lease (expires_at, id) where turn is null',
  ],
};
