import { z } from 'zod';
import { listResources } from '../../resource/lists/operations.ts';
import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkScopeList, placeOfScopeList, scopeDefinition } from './operations.ts';

const skip = (which: string) =>
  z.string().optional().describe(`Whether to do without the ${which} that a new scope gets.`);

export const scopeRoutes: readonly BoundaryRoute[] = standardRoutes(scopeDefinition, {
  checkList: checkScopeList,
  list: (app, caller, query) =>
    listResources(app, caller, scopeDefinition, placeOfScopeList(query)),
  createQuery: z.object({
    skip_admin_role_creation: skip('role of its maker'),
    skip_default_role_creation: skip('role of its users'),
  }),
});
