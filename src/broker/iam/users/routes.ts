import { idList } from '../../resource/links/fields.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { linkRoutes } from '../../resource/verbs.routes.ts';
import { changeAccounts, checkAccounts, userDefinition } from './operations.ts';

export const userRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(userDefinition),
  ...linkRoutes(userDefinition, 'accounts', {
    summaries: {
      add: 'Add accounts that stand for a user',
      set: 'Replace the accounts that stand for a user',
      remove: 'Take accounts from a user',
    },
    fields: { account_ids: idList('Accounts that stand for the user.') },
    check: checkAccounts,
    run: changeAccounts,
  }),
];
