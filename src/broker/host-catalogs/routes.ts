import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { checkProjectList, hostCatalogDefinition } from './operations.ts';

export const hostCatalogRoutes: readonly BoundaryRoute[] = standardRoutes(hostCatalogDefinition, {
  checkList: checkProjectList,
});
