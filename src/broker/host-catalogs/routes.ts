import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { checkProjectList } from '../lists/query.ts';
import { standardRoutes } from '../resources/routes.ts';
import { hostCatalogDefinition } from './operations.ts';

export const hostCatalogRoutes: readonly BoundaryRoute[] = standardRoutes(hostCatalogDefinition, {
  checkList: checkProjectList,
});
