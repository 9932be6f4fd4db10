import { checkProjectList } from '../../resource/lists/query.ts';
import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { hostCatalogDefinition } from './operations.ts';

export const hostCatalogRoutes: readonly BoundaryRoute[] = standardRoutes(hostCatalogDefinition, {
  checkList: checkProjectList,
});
