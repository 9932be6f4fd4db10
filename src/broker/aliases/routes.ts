import type { BoundaryRoute } from '../../http/boundary-route.ts';
import { standardRoutes } from '../resources/routes.ts';
import { aliasDefinition } from './operations.ts';

export const aliasRoutes: readonly BoundaryRoute[] = standardRoutes(aliasDefinition);
