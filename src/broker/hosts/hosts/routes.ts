import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { hostDefinition } from './operations.ts';

export const hostRoutes: readonly AnyBoundaryRoute[] = standardRoutes(hostDefinition);
