import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { authTokenDefinition } from './operations.ts';

export const authTokenRoutes: readonly BoundaryRoute[] = standardRoutes(authTokenDefinition, {
  only: ['list', 'read', 'delete'],
});
