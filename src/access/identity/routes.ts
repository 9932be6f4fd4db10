import type { AnyRoute } from '../../app/route.ts';
import { entityRoutes } from './entities.routes.ts';
import { groupRoutes } from './groups.routes.ts';

export const identityRoutes: AnyRoute[] = [...entityRoutes, ...groupRoutes];
