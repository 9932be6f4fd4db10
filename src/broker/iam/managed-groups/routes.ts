import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkManagedGroupList, managedGroupDefinition } from './operations.ts';

export const managedGroupRoutes: readonly AnyBoundaryRoute[] = standardRoutes(
  managedGroupDefinition,
  {
    checkList: checkManagedGroupList,
  },
);
