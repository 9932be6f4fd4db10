import { z } from 'zod';
import { listResources } from '../../resource/lists/operations.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkScopeList, scopeDefinition } from './operations.ts';
import { storagePolicyRoutes } from './storage-policy.routes.ts';

const skip = (which: string) =>
  z.string().optional().describe(`Whether to do without the ${which} that a new scope gets.`);

const standard = standardRoutes(scopeDefinition, {
  checkList: checkScopeList,
  listQuery: {
    scope_id: z.string().optional().describe('What is listed; by default `global`.'),
  },
  list: (app, caller, asked) =>
    listResources(app, caller, scopeDefinition, { ...asked, place: asked.place || 'global' }),
  createQuery: z.object({
    skip_admin_role_creation: skip('role of its maker'),
    skip_default_role_creation: skip('role of its users'),
  }),
});

export const scopeRoutes: readonly AnyBoundaryRoute[] = [...standard, ...storagePolicyRoutes];
