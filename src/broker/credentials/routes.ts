import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { checkCredentialList, credentialDefinition } from './operations.ts';

export const credentialRoutes: readonly BoundaryRoute[] = standardRoutes(credentialDefinition, {
  checkList: checkCredentialList,
});
