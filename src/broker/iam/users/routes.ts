import { idList } from '../../resource/links/fields.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import { changeAccounts, checkAccounts, userDefinition } from './operations.ts';

const SUMMARIES: readonly [change: LinkChange, summary: string][] = [
  ['add', 'Add accounts that stand for a user'],
  ['set', 'Replace the accounts that stand for a user'],
  ['remove', 'Take accounts from a user'],
];

export const userRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(userDefinition),
  ...SUMMARIES.map(([change, summary]) =>
    actionRoute(userDefinition, `${change}-accounts`, {
      summary,
      fields: { account_ids: idList('Accounts that stand for the user.') },
      audit: ['account_ids'],
      check: checkAccounts(change),
      run: changeAccounts(change),
    }),
  ),
];
