import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { policyDefinition } from './operations.ts';

export const policyRoutes: readonly AnyBoundaryRoute[] = standardRoutes(policyDefinition);
