import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { checkManagedGroupList, managedGroupDefinition } from './operations.ts';

export const managedGroupRoutes: readonly BoundaryRoute[] = standardRoutes(managedGroupDefinition, {
  checkList: checkManagedGroupList,
});
