import type { BoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { authTokenDefinition } from './operations.ts';

export const authTokenRoutes: readonly BoundaryRoute[] = standardRoutes(authTokenDefinition, {
  only: ['list', 'read', 'delete'],
});
