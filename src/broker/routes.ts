import type { BoundaryRoute } from '../http/boundary-route.ts';
import { scopeRoutes } from './scopes/routes.ts';

/** Every endpoint of the broker's API. */
export const brokerRoutes: readonly BoundaryRoute[] = [...scopeRoutes];
