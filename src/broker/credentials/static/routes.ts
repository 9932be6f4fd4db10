import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkCredentialList, credentialDefinition } from './operations.ts';

export const credentialRoutes: readonly AnyBoundaryRoute[] = standardRoutes(credentialDefinition, {
  checkList: checkCredentialList,
});
