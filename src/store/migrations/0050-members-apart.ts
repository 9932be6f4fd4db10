import type { Migration } from '../migration.ts';

/**
 * Groups that are members of groups are read whole whenever configuration has changed: they are found
 * without stepping over the entities among the members, who are many times more.
 */
export const membersApart: Migration = {
  number: 50,
  name: 'members apart',
  up: () => [
    `create index identity_group_member_groups on identity_group_member (group_id, member_id)
      where kind = 'group'`,
  ],
};
