import { checkProjectList } from '../../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { hostCatalogDefinition } from './operations.ts';

export const hostCatalogRoutes: readonly AnyBoundaryRoute[] = standardRoutes(
  hostCatalogDefinition,
  {
    checkList: checkProjectList,
  },
);
