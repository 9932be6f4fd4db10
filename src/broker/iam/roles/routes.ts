import { idList } from '../../resource/links/fields.ts';
import type { LinkChange } from '../../resource/links/plan.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import {
  changeGrantScopes,
  changeGrants,
  checkGrantScopes,
  checkGrants,
} from './grants.operations.ts';
import { roleDefinition } from './operations.ts';
import { changePrincipals, checkPrincipals } from './principals.operations.ts';

const CHANGES: readonly LinkChange[] = ['add', 'set', 'remove'];
const WORDS: Readonly<Record<LinkChange, string>> = {
  add: 'Add',
  set: 'Replace',
  remove: 'Remove',
};

export const roleRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(roleDefinition),
  ...CHANGES.flatMap((change) => [
    actionRoute(roleDefinition, `${change}-principals`, {
      summary: `${WORDS[change]} those that a role's grants are for`,
      fields: { principal_ids: idList('Users, groups and managed groups.') },
      audit: ['principal_ids'],
      check: checkPrincipals(change),
      run: changePrincipals(change),
    }),
    actionRoute(roleDefinition, `${change}-grants`, {
      summary: `${WORDS[change]} grants of a role`,
      fields: { grant_strings: idList('Grants, e.g. `ids=*;type=target;actions=read`.') },
      audit: ['grant_strings'],
      check: checkGrants(change),
      run: changeGrants(change),
    }),
    actionRoute(roleDefinition, `${change}-grant-scopes`, {
      summary: `${WORDS[change]} scopes that a role's grants reach`,
      fields: { grant_scope_ids: idList('`this`, `children`, `descendants`, or scope ids.') },
      audit: ['grant_scope_ids'],
      check: checkGrantScopes(change),
      run: changeGrantScopes(change),
    }),
  ]),
];
