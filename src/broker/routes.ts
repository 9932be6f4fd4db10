import type { BoundaryRoute } from '../http/boundary-route.ts';
import { groupRoutes } from './groups/routes.ts';
import { roleRoutes } from './roles/routes.ts';
import { scopeRoutes } from './scopes/routes.ts';
import { userRoutes } from './users/routes.ts';

/** Every endpoint of the broker's API. */
export const brokerRoutes: readonly BoundaryRoute[] = [
  ...scopeRoutes,
  ...userRoutes,
  ...groupRoutes,
  ...roleRoutes,
];
