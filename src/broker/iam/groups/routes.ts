import { idList } from '../../resource/links/fields.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import { changeMembers, checkMembers, groupDefinition } from './operations.ts';

const SUMMARIES: readonly [change: LinkChange, summary: string][] = [
  ['add', 'Add users to a group'],
  ['set', 'Replace the users of a group'],
  ['remove', 'Take users out of a group'],
];

export const groupRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(groupDefinition),
  ...SUMMARIES.map(([change, summary]) =>
    actionRoute(groupDefinition, `${change}-members`, {
      summary,
      fields: { member_ids: idList('Users in the group.') },
      audit: ['member_ids'],
      check: checkMembers(change),
      run: changeMembers(change),
    }),
  ),
];
