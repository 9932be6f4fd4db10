import type { AnyRoute } from '../app/route.ts';
import { celRoleRoutes } from './cel/routes.ts';
import { metadataRoutes } from './certificates/metadata/routes.ts';
import { certificateRoutes } from './certificates/routes.ts';
import { configRoutes } from './config/routes.ts';
import { crlRoutes } from './crl/routes.ts';
import { shardRoutes } from './crl/shards.routes.ts';
import { crlSigningRoutes } from './crl/signing/routes.ts';
import { expirationRoutes } from './expiration/routes.ts';
import { exportRoutes } from './export/routes.ts';
import { externalPolicyRoutes } from './external-policy/routes.ts';
import { importRoutes } from './imports/routes.ts';
import { intermediateRoutes } from './intermediates/routes.ts';
import { celIssuanceRoutes } from './issuance/cel/routes.ts';
import { issuanceRoutes } from './issuance/routes.ts';
import { trialRoutes } from './issuance/trial/routes.ts';
import { issuerRoutes } from './issuers/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { ocspRoutes } from './ocsp/routes.ts';
import { revocationRoutes } from './revocation/routes.ts';
import { roleRoutes } from './roles/routes.ts';
import { rootRoutes } from './roots/routes.ts';
import { tidyRoutes } from './tidy/routes.ts';

/** Every endpoint of the certificate authority, under `/v1/{mount}/`. */
export const pkiRoutes: readonly AnyRoute[] = [
  ...rootRoutes,
  ...intermediateRoutes,
  ...issuerRoutes,
  ...importRoutes,
  ...issuanceRoutes,
  ...celIssuanceRoutes,
  ...trialRoutes,
  ...keyRoutes,
  ...roleRoutes,
  ...celRoleRoutes,
  ...certificateRoutes,
  ...exportRoutes,
  ...metadataRoutes,
  ...configRoutes,
  ...externalPolicyRoutes,
  ...expirationRoutes,
  ...revocationRoutes,
  ...crlRoutes,
  ...shardRoutes,
  ...crlSigningRoutes,
  ...ocspRoutes,
  ...tidyRoutes,
];
