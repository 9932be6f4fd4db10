import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { authTokenDefinition } from './operations.ts';

export const authTokenRoutes: readonly AnyBoundaryRoute[] = standardRoutes(authTokenDefinition, {
  only: ['list', 'read', 'delete'],
});
