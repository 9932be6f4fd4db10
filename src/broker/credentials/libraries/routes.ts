import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkLibraryList, credentialLibraryDefinition } from './operations.ts';

export const credentialLibraryRoutes: readonly BoundaryRoute[] = standardRoutes(
  credentialLibraryDefinition,
  { checkList: checkLibraryList },
);
