import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkManagedGroupList, managedGroupDefinition } from './operations.ts';

export const managedGroupRoutes: readonly BoundaryRoute[] = standardRoutes(managedGroupDefinition, {
  checkList: checkManagedGroupList,
});
