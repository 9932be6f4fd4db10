import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { checkProjectList } from '../lists/query.ts';
import { standardRoutes } from '../resources/routes.ts';
import { credentialStoreDefinition } from './operations.ts';

export const credentialStoreRoutes: readonly BoundaryRoute[] = standardRoutes(
  credentialStoreDefinition,
  { checkList: checkProjectList },
);
