import { approleRoutes } from '../access/auth/approle/routes.ts';
import { leaseRoutes } from '../access/auth/leases/routes.ts';
import { unavailableRoutes } from '../access/auth/not-supported.routes.ts';
import { tokenRoutes } from '../access/auth/token/routes.ts';
import { userpassRoutes } from '../access/auth/userpass/routes.ts';
import { capabilityRoutes } from '../access/capabilities/routes.ts';
import { cubbyholeRoutes } from '../access/cubbyhole/routes.ts';
import { identityRoutes } from '../access/identity/routes.ts';
import { policyRoutes } from '../access/policies/routes.ts';
import { wrappingRoutes } from '../access/wrapping/routes.ts';
import type { EndDependants, LeaseKinds, PlanDependants } from '../app/app.ts';
import type { AnyRoute } from '../app/route.ts';
import { auditDeviceRoutes } from '../audit/devices/routes.ts';
import { auditHeaderRoutes } from '../audit/request-headers/routes.ts';
import { endBeforehand, planEnded } from '../broker/iam/auth-tokens/termination.operations.ts';
import { lockedUserRoutes } from '../broker/iam/locked-users/routes.ts';
import { brokerRoutes } from '../broker/routes.ts';
import { vaultLease } from '../broker/vault/leases/operations.ts';
import { type BoundaryRouter, compileBoundaryRoutes } from '../http/boundary/path.ts';
import type { Routers } from '../http/dialects.ts';
import { compileRoutes, type PathRouter } from '../http/vault/router.ts';
import type { VaultRouters } from '../http/vault/target.ts';
import { metricsRoutes } from '../metrics/routes.ts';
import { AUTH_TYPES } from '../mounts/rules.ts';
import { certificateLease } from '../pki/revocation/operations.ts';
import { pkiRoutes } from '../pki/routes.ts';
import { sealRoutes } from '../seal/routes.ts';
import { sshRoutes } from '../ssh-authority/routes.ts';
import { managedKeyRoutes } from '../system/managed-keys/routes.ts';
import { mountSystemRoutes } from '../system/mounts/routes.ts';
import { serverRoutes } from '../system/routes.ts';
import { type DeclaredRoutes, specRoutes } from './specs.ts';

/** Endpoints under `/v1/sys/`. */
export const systemRoutes: readonly AnyRoute[] = [
  ...sealRoutes,
  ...mountSystemRoutes,
  ...managedKeyRoutes,
  ...policyRoutes,
  ...capabilityRoutes,
  ...auditDeviceRoutes,
  ...auditHeaderRoutes,
  ...lockedUserRoutes,
  ...wrappingRoutes,
  ...metricsRoutes,
  ...serverRoutes,
  ...leaseRoutes,
  ...specRoutes(() => declaredRoutes),
];

/** Endpoints of each engine under `/v1/{mount}/`. */
export const secretEngines: Readonly<Record<string, readonly AnyRoute[]>> = {
  pki: pkiRoutes,
  ssh: sshRoutes,
  cubbyhole: cubbyholeRoutes,
  identity: identityRoutes,
};

/** Endpoints of each way to log in, under `/v1/auth/{mount}/`. */
export const authEngines: Readonly<Record<string, readonly AnyRoute[]>> = {
  token: tokenRoutes,
  userpass: userpassRoutes,
  approle: approleRoutes,
};

/** Everything there is, for documents about it. */
export const declaredRoutes: DeclaredRoutes = {
  system: systemRoutes,
  secret: secretEngines,
  auth: authEngines,
  broker: brokerRoutes,
};

export const boundaryRouter = (): BoundaryRouter => compileBoundaryRoutes(brokerRoutes);

/** What is given out with a lease, by the name that its rows carry. */
export const leaseKinds: LeaseKinds = {
  certificate: certificateLease,
  'broker-vault': vaultLease,
};

/** The routes of every dialect, compiled; each thread that answers has its own. */
export const compileRouters = (): Routers => ({
  system: systemRouter(),
  secret: secretRouters(),
  auth: authRouters(),
  boundary: boundaryRouter(),
});

/** What else ends with a token or a person. */
export const planDependants: PlanDependants = planEnded;

export const endDependants: EndDependants = endBeforehand;

export const systemRouter = (): PathRouter => compileRoutes(systemRoutes, '/v1/sys');

export function secretRouters(): ReadonlyMap<string, PathRouter> {
  return compileEngines(secretEngines, '/v1/{mount}');
}

/** What relying parties read, without TLS; see `relying_parties` of a route. */
export function relyingPartyRouters(): VaultRouters {
  const served = Object.entries(secretEngines).map(
    ([type, routes]) => [type, routes.filter(isForRelyingParties)] as const,
  );
  return {
    system: compileRoutes([], '/v1/sys'),
    secret: compileEngines(Object.fromEntries(served), '/v1/{mount}'),
    auth: new Map(),
  };
}

const isForRelyingParties = ({ relying_parties, access }: AnyRoute): boolean =>
  relying_parties === true && access === 'public';

export function authRouters(): ReadonlyMap<string, PathRouter> {
  const unavailable = AUTH_TYPES.map((type) => [type, unavailableRoutes(type)] as const);
  return compileEngines({ ...Object.fromEntries(unavailable), ...authEngines }, '/v1/auth/{mount}');
}

function compileEngines(
  engines: Readonly<Record<string, readonly AnyRoute[]>>,
  prefix: string,
): ReadonlyMap<string, PathRouter> {
  return new Map(
    Object.entries(engines).map(([type, routes]) => [type, compileRoutes(routes, prefix)]),
  );
}
