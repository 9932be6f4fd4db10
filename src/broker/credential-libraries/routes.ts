import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { checkLibraryList, credentialLibraryDefinition } from './operations.ts';

export const credentialLibraryRoutes: readonly BoundaryRoute[] = standardRoutes(
  credentialLibraryDefinition,
  { checkList: checkLibraryList },
);
