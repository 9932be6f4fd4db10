import { userDefinition } from '../../iam/users/operations.ts';
import type { BoundaryRoute } from '../../resource/route.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import { listResolvableAliases } from './operations.ts';

export const resolvableAliasRoutes: readonly BoundaryRoute[] = [
  actionRoute(userDefinition, 'list-resolvable-aliases', {
    method: 'GET',
    summary: 'List the aliases that lead a user to targets',
    fields: {},
    versioned: false,
    run: (app, caller, { resource, query }) => listResolvableAliases(app, caller, resource, query),
  }),
];
