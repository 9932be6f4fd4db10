import { idList } from '../../resource/links/fields.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { linkRoutes } from '../../resource/verbs.routes.ts';
import { changeMembers, checkMembers, groupDefinition } from './operations.ts';

export const groupRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(groupDefinition),
  ...linkRoutes(groupDefinition, 'members', {
    summaries: {
      add: 'Add users to a group',
      set: 'Replace the users of a group',
      remove: 'Take users out of a group',
    },
    fields: { member_ids: idList('Users in the group.') },
    check: checkMembers,
    run: changeMembers,
  }),
];
