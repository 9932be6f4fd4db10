import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { verbRoute } from '../resources/routes.ts';
import { userDefinition } from '../users/operations.ts';
import { listResolvableAliases } from './operations.ts';

export const resolvableAliasRoutes: readonly BoundaryRoute[] = [
  verbRoute(userDefinition, 'list-resolvable-aliases', {
    method: 'GET',
    summary: 'List the aliases that lead a user to targets',
    fields: {},
    versioned: false,
    run: (app, caller, { resource, query }) => listResolvableAliases(app, caller, resource, query),
  }),
];
