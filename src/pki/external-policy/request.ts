import type { AuthorityUrls } from '../mount-state/urls.ts';

/** As a service is told what it is asked for. */
export type IssuanceMode = 'issue' | 'sign' | 'ica';

/** Who asks, as far as the settings tell of them. */
export interface ToldIdentity {
  entity_id: string;
  entity?: unknown;
  groups?: unknown;
}

interface PolicyRequest {
  request_uuid: string;
  mode: IssuanceMode;
  policy_name: string;
  mount: string;
  /** All that the caller sent; of what is understood here, what was read of it, with what holds where it was left out. */
  user: Readonly<Record<string, unknown>>;
  /** Undefined for a token without an entity. */
  identity: ToldIdentity | undefined;
  /** Undefined where there is no default issuer, and none was named. */
  issuer: { name: string; id: string; certificate: string } | undefined;
  urls: AuthorityUrls;
  leaf_not_after_behavior: string;
  mount_default_ttl: string;
  mount_max_ttl: string;
}

/** The message that a service gets, as JSON. @see P-379 */
export function encodePolicyRequest(request: PolicyRequest): string {
  const { mode, identity, issuer, urls } = request;
  return JSON.stringify({
    request_version: 1,
    request_uuid: request.request_uuid,
    synchronous: true,
    user_request_key_values: request.user,
    ...(identity && { identity_request_key_values: identity }),
    vault_request_values: {
      policy_name: request.policy_name,
      mount: request.mount,
      namespace: '',
      vault_is_performance_standby: false,
      vault_is_performance_secondary: false,
      issuance_mode: mode,
      vault_generated_private_key: mode === 'issue',
      requested_issuer_name: issuer?.name ?? '',
      requested_issuer_id: issuer?.id ?? '',
      requested_issuer_cert: issuer?.certificate ?? '',
      requested_issuance_config: {
        aia_values: {
          issuing_certificates: urls.issuing_certificates,
          crl_distribution_points: urls.crl_distribution_points,
          ocsp_servers: urls.ocsp_servers,
        },
        leaf_not_after_behavior: request.leaf_not_after_behavior,
        mount_default_ttl: request.mount_default_ttl,
        mount_max_ttl: request.mount_max_ttl,
      },
    },
  });
}
