import type { AnyRoute } from '../http/route.ts';
import { certificateRoutes } from './certificates/routes.ts';
import { configRoutes } from './config/routes.ts';
import { issuerRoutes } from './issuers/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { roleRoutes } from './roles/routes.ts';

/** Every endpoint of the certificate authority, under `/v1/{mount}/`. */
export const pkiRoutes: readonly AnyRoute[] = [
  ...issuerRoutes,
  ...keyRoutes,
  ...roleRoutes,
  ...certificateRoutes,
  ...configRoutes,
];
