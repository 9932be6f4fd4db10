import { checkProjectList } from '../../resource/lists/query.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { credentialStoreDefinition } from './operations.ts';

export const credentialStoreRoutes: readonly AnyBoundaryRoute[] = standardRoutes(
  credentialStoreDefinition,
  { checkList: checkProjectList },
);
