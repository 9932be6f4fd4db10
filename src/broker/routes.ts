import { resolvableAliasRoutes } from './aliases/resolvable/routes.ts';
import { aliasRoutes } from './aliases/routes.ts';
import { billingRoutes } from './billing/routes.ts';
import { credentialLibraryRoutes } from './credentials/libraries/routes.ts';
import { credentialRoutes } from './credentials/static/routes.ts';
import { credentialStoreRoutes } from './credentials/stores/routes.ts';
import { hostCatalogRoutes } from './hosts/catalogs/routes.ts';
import { hostRoutes } from './hosts/hosts/routes.ts';
import { hostSetRoutes } from './hosts/sets/routes.ts';
import { accountRoutes } from './iam/accounts/routes.ts';
import { authMethodRoutes } from './iam/auth-methods/routes.ts';
import { authTokenRoutes } from './iam/auth-tokens/routes.ts';
import { groupRoutes } from './iam/groups/routes.ts';
import { managedGroupRoutes } from './iam/managed-groups/routes.ts';
import { roleRoutes } from './iam/roles/routes.ts';
import { scopeRoutes } from './iam/scopes/routes.ts';
import { userRoutes } from './iam/users/routes.ts';
import { unavailableRoutes } from './not-supported.routes.ts';
import { bucketRoutes } from './recordings/buckets/routes.ts';
import { policyRoutes } from './recordings/policies/routes.ts';
import { recordingRoutes } from './recordings/recordings/routes.ts';
import type { AnyBoundaryRoute } from './resource/route.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { authorizeSessionRoutes } from './targets/authorize-session/routes.ts';
import { targetRoutes } from './targets/routes.ts';
import { workerRoutes } from './workers/routes.ts';

/** Every endpoint of the broker's API. */
export const brokerRoutes: readonly AnyBoundaryRoute[] = [
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
  ...recordingRoutes,
  ...bucketRoutes,
  ...policyRoutes,
  ...aliasRoutes,
  ...resolvableAliasRoutes,
  ...workerRoutes,
  ...billingRoutes,
  ...unavailableRoutes,
];
