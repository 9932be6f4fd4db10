import type { BoundaryRoute } from '../http/boundary-route.ts';
import { accountRoutes } from './accounts/routes.ts';
import { aliasRoutes } from './aliases/routes.ts';
import { authMethodRoutes } from './auth-methods/routes.ts';
import { authTokenRoutes } from './auth-tokens/routes.ts';
import { authorizeSessionRoutes } from './authorize-session/routes.ts';
import { billingRoutes } from './billing/routes.ts';
import { credentialLibraryRoutes } from './credential-libraries/routes.ts';
import { credentialStoreRoutes } from './credential-stores/routes.ts';
import { credentialRoutes } from './credentials/routes.ts';
import { groupRoutes } from './groups/routes.ts';
import { hostCatalogRoutes } from './host-catalogs/routes.ts';
import { hostSetRoutes } from './host-sets/routes.ts';
import { hostRoutes } from './hosts/routes.ts';
import { managedGroupRoutes } from './managed-groups/routes.ts';
import { resolvableAliasRoutes } from './resolvable-aliases/routes.ts';
import { roleRoutes } from './roles/routes.ts';
import { scopeRoutes } from './scopes/routes.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { targetRoutes } from './targets/routes.ts';
import { unavailableRoutes } from './unavailable/routes.ts';
import { userRoutes } from './users/routes.ts';
import { workerRoutes } from './workers/routes.ts';

/** Every endpoint of the broker's API. */
export const brokerRoutes: readonly BoundaryRoute[] = [
  ...scopeRoutes,
  ...authMethodRoutes,
  ...accountRoutes,
  ...authTokenRoutes,
  ...userRoutes,
  ...groupRoutes,
  ...managedGroupRoutes,
  ...roleRoutes,
  ...hostCatalogRoutes,
  ...hostSetRoutes,
  ...hostRoutes,
  ...credentialStoreRoutes,
  ...credentialLibraryRoutes,
  ...credentialRoutes,
  ...targetRoutes,
  ...authorizeSessionRoutes,
  ...sessionRoutes,
  ...aliasRoutes,
  ...resolvableAliasRoutes,
  ...workerRoutes,
  ...billingRoutes,
  ...unavailableRoutes,
];
