import type { AnyBoundaryRoute } from '../resource/route.ts';
import { standardRoutes } from '../resource/routes.ts';
import { aliasDefinition } from './operations.ts';

export const aliasRoutes: readonly AnyBoundaryRoute[] = standardRoutes(aliasDefinition);
