import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkCredentialList, credentialDefinition } from './operations.ts';

export const credentialRoutes: readonly BoundaryRoute[] = standardRoutes(credentialDefinition, {
  checkList: checkCredentialList,
});
