import type { Migration } from '../migration.ts';

/**
 * Of all the groups that somebody is in, those with policies are read at once: what others say of themselves is
 * as long as whoever writes them likes. Policies are the last of a group's body.
 */
export const groupsThatGive: Migration = {
  number: 68,
  name: 'groups that give',
  up: () => [
    `create unique index identity_group_giving on identity_group (id) where body not like '%"policies":[]}'`,
  ],
};
