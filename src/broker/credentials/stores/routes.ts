import { checkProjectList } from '../../resource/lists/query.ts';
import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { credentialStoreDefinition } from './operations.ts';

export const credentialStoreRoutes: readonly BoundaryRoute[] = standardRoutes(
  credentialStoreDefinition,
  { checkList: checkProjectList },
);
