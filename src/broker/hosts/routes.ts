import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { hostDefinition } from './operations.ts';

export const hostRoutes: readonly BoundaryRoute[] = standardRoutes(hostDefinition);
