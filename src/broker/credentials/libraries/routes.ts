import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { checkLibraryList, credentialLibraryDefinition } from './operations.ts';

export const credentialLibraryRoutes: readonly AnyBoundaryRoute[] = standardRoutes(
  credentialLibraryDefinition,
  { checkList: checkLibraryList },
);
