import type { AnyRoute } from '../app/route.ts';
import { metadataRoutes } from './certificates/metadata/routes.ts';
import { certificateRoutes } from './certificates/routes.ts';
import { configRoutes } from './config/routes.ts';
import { crlRoutes } from './crl/routes.ts';
import { expirationRoutes } from './expiration/routes.ts';
import { exportRoutes } from './export/routes.ts';
import { importRoutes } from './imports/routes.ts';
import { intermediateRoutes } from './intermediates/routes.ts';
import { issuanceRoutes } from './issuance/routes.ts';
import { issuerRoutes } from './issuers/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { ocspRoutes } from './ocsp/routes.ts';
import { revocationRoutes } from './revocation/routes.ts';
import { roleRoutes } from './roles/routes.ts';
import { rootRoutes } from './roots/routes.ts';

/** Every endpoint of the certificate authority, under `/v1/{mount}/`. */
export const pkiRoutes: readonly AnyRoute[] = [
  ...rootRoutes,
  ...intermediateRoutes,
  ...issuerRoutes,
  ...importRoutes,
  ...issuanceRoutes,
  ...keyRoutes,
  ...roleRoutes,
  ...certificateRoutes,
  ...exportRoutes,
  ...metadataRoutes,
  ...configRoutes,
  ...expirationRoutes,
  ...revocationRoutes,
  ...crlRoutes,
  ...ocspRoutes,
];
