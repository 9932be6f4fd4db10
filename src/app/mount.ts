/** Types of engines this server has, and what each is mounted as. */
export type MountKind = 'secret' | 'auth';

/** Settings of a mount; TTLs in seconds, 0: the server's own. */
export interface MountConfig {
  default_lease_ttl: number;
  max_lease_ttl: number;
  force_no_cache: boolean;
  listing_visibility: '' | 'hidden' | 'unauth';
  passthrough_request_headers: readonly string[];
  allowed_response_headers: readonly string[];
  audit_non_hmac_request_keys: readonly string[];
  audit_non_hmac_response_keys: readonly string[];
  allowed_managed_keys: readonly string[];
  delegated_auth_accessors: readonly string[];
  /** Auth mounts only. */
  token_type: string;
}

/** One engine at one path. Its data belongs to `id`, so a mount can move without touching it. */
export interface Mount {
  /** The `uuid` of the API. */
  id: string;
  kind: MountKind;
  /** With a trailing slash and, for auth mounts, without the `auth/` before it: `pki/`, `userpass/`. */
  path: string;
  type: string;
  accessor: string;
  description: string;
  local: boolean;
  seal_wrap: boolean;
  external_entropy_access: boolean;
  options: Readonly<Record<string, string>> | null;
  config: MountConfig;
}

/** Lease times that apply when a mount sets none: 32 days, as clients of this API expect. */
export const SYSTEM_LEASE_TTL = 2_764_800;

/** @returns the effective `default_lease_ttl` and `max_lease_ttl` of a mount, in seconds */
export function effectiveLeaseTtls(config: MountConfig): { default_ttl: number; max_ttl: number } {
  const max_ttl = config.max_lease_ttl || SYSTEM_LEASE_TTL;
  const default_ttl = config.default_lease_ttl || Math.min(SYSTEM_LEASE_TTL, max_ttl);
  return { default_ttl, max_ttl };
}

/** Path of a mount as clients and policies write it: `pki/`, `auth/userpass/`. */
export function fullPath(mount: Pick<Mount, 'kind' | 'path'>): string {
  return mount.kind === 'auth' ? `auth/${mount.path}` : mount.path;
}

/** What a path in a request names. */
export interface Place {
  kind: MountKind;
  path: string;
}

/** With the slash at its end that mounts are kept with. */
export function placeOf({ kind, path }: Place): Place {
  return { kind, path: `${path.replace(/\/$/, '')}/` };
}
