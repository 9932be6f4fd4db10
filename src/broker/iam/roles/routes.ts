import { idList } from '../../resource/links/fields.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { linkRoutes, summariesOf } from '../../resource/verbs.routes.ts';
import {
  changeGrantScopes,
  changeGrants,
  checkGrantScopes,
  checkGrants,
} from './grants.operations.ts';
import { roleDefinition } from './operations.ts';
import { changePrincipals, checkPrincipals } from './principals.operations.ts';

export const roleRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(roleDefinition),
  ...linkRoutes(roleDefinition, 'principals', {
    summaries: summariesOf("those that a role's grants are for"),
    fields: { principal_ids: idList('Users, groups and managed groups.') },
    check: checkPrincipals,
    run: changePrincipals,
  }),
  ...linkRoutes(roleDefinition, 'grants', {
    summaries: summariesOf('grants of a role'),
    fields: { grant_strings: idList('Grants, e.g. `ids=*;type=target;actions=read`.') },
    check: checkGrants,
    run: changeGrants,
  }),
  ...linkRoutes(roleDefinition, 'grant-scopes', {
    summaries: summariesOf("scopes that a role's grants reach"),
    fields: { grant_scope_ids: idList('`this`, `children`, `descendants`, or scope ids.') },
    check: checkGrantScopes,
    run: changeGrantScopes,
  }),
];
