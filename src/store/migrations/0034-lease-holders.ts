import type { Migration } from '../migration.ts';

/**
 * A lease that a batch token of a log-in made ends with the alias of that log-in, as the token does,
 * which has no row. Counted tokens run out with their last use; those that had it before run out here.
 */
export const leaseHolders: Migration = {
  number: 34,
  name: 'lease holders',
  up: ({ text }) => [
    `alter table lease add column alias_id ${text} references identity_alias (id) on delete set null`,
    'create index lease_alias on lease (alias_id) where alias_id is not null',
    'drop index lease_unbound',
    `create index lease_unbound on lease (id)
      where bound = 1 and token_id is null and alias_id is null`,
    `update token set expires_at = 1 where uses_left = 0 and body not like '%,"num_uses":0,%'
      and (expires_at is null or expires_at > 1)`,
  ],
};
