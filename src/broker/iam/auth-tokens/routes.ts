import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { shownRoutes } from '../../resource/routes.ts';
import { authTokenDefinition } from './operations.ts';

export const authTokenRoutes: readonly AnyBoundaryRoute[] = shownRoutes(authTokenDefinition, {
  only: ['list', 'read', 'delete'],
});
