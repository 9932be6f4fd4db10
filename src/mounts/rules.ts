import {
  fullPath,
  type Mount,
  type MountConfig,
  type MountKind,
  type Place,
  placeOf,
  SYSTEM_LEASE_TTL,
} from '../app/mount.ts';
import { type Failure, invalid } from '../core/failure.ts';

/** Engine types that can be mounted, by kind. */
export const SECRET_TYPES = ['pki', 'ssh'] as const;

/**
 * Auth types that can be mounted. Nobody can log in yet with one that has no engine here;
 * it is kept, listed and read back under its own type.
 */
export const AUTH_TYPES = [
  'userpass', 'approle', 'cert', 'ldap', 'jwt', 'oidc', 'github', 'radius', 'kubernetes',
  'aws', 'azure', 'gcp', 'okta', 'kerberos', 'cf', 'alicloud', 'oci',
] as const; // biome-ignore format: one table

/** Those that somebody can log in with. */
const WITH_ENGINE: readonly string[] = ['userpass', 'approle'];

/** What whoever enables an engine is told besides. */
export function warnOfEngine(kind: MountKind, type: string): string[] {
  if (kind !== 'auth' || WITH_ENGINE.includes(type)) return [];
  return [
    `auth methods of type "${type}" have no engine in this version: it is kept and listed, and nobody can log in with it; ${WITH_ENGINE.join(' and ')} have one`,
  ];
}

/** First path segments that belong to the server itself or to the access broker's resources. */
const RESERVED: ReadonlySet<string> = new Set([
  'sys', 'auth', 'cubbyhole', 'identity', 'targets', 'scopes', 'users', 'groups', 'roles',
  'auth-methods', 'auth-tokens', 'accounts', 'managed-groups', 'host-catalogs', 'host-sets',
  'hosts', 'credential-stores', 'credential-libraries', 'credentials', 'aliases', 'sessions',
  'session-recordings', 'storage-buckets', 'workers', 'policies', 'billing',
]); // biome-ignore format: one table

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export const EMPTY_CONFIG: MountConfig = {
  default_lease_ttl: 0,
  max_lease_ttl: 0,
  force_no_cache: false,
  listing_visibility: '',
  passthrough_request_headers: [],
  allowed_response_headers: [],
  audit_non_hmac_request_keys: [],
  audit_non_hmac_response_keys: [],
  allowed_managed_keys: [],
  delegated_auth_accessors: [],
  token_type: '',
};

/**
 * Checks a path to mount at and gives it its trailing slash.
 *
 * @throws Failure `invalid` naming what is wrong with it
 */
export function planMountPath(kind: MountKind, wanted: string): string {
  const segments = wanted.replace(/\/$/, '').split('/');
  if (!segments.every((segment) => SEGMENT.test(segment)) || segments.length > 8) {
    throw invalid(
      `path "${wanted}" cannot be mounted: up to 8 segments of letters, digits, ".", "_" and "-", each beginning with a letter or digit`,
    );
  }
  const [first = ''] = segments;
  if (kind === 'secret' && RESERVED.has(first)) {
    throw invalid(`cannot mount at "${wanted}": the word "${first}" is reserved`);
  }
  if (kind === 'auth' && first === 'token') {
    throw invalid('cannot mount at "token/": token credential backend cannot be mounted');
  }
  return `${segments.join('/')}/`;
}

/** @throws Failure `invalid` when there is no such engine */
export function requireEngineType(kind: MountKind, type: string): void {
  const known: readonly string[] = kind === 'auth' ? AUTH_TYPES : SECRET_TYPES;
  if (type === '') throw invalid('backend type must be specified as a string');
  if (!known.includes(type)) {
    throw invalid(`plugin not found in the catalog: ${type}; type is one of ${known.join(', ')}`);
  }
}

/** @throws Failure `invalid` for a mount that is there from the first start */
export function requireRemovable(mount: Mount): void {
  if (['sys/', 'identity/', 'cubbyhole/', 'auth/token/'].includes(fullPath(mount))) {
    throw invalid(`cannot unmount "${fullPath(mount)}": it belongs to the server`);
  }
}

/** What a request hears that wants a path which is taken, or lies around or beneath one that is. */
export function refusePathInUse(path: string): Failure {
  return invalid(`path is already in use at ${path}`);
}

/** What a request hears about the settings of a mount that is not there. */
export function refuseToTune(input: Place): Failure {
  const path = fullPath(placeOf(input));
  return invalid(`tune of path "${path}" failed: no mount entry found`);
}

/** Settings as requests carry them; what is absent stays as it is. */
export interface MountSettings extends Lists {
  /** Seconds, 0 for the server's; the empty text leaves it as it is. */
  default_lease_ttl?: number | string | undefined;
  max_lease_ttl?: number | string | undefined;
  force_no_cache?: boolean | undefined;
  listing_visibility?: string | undefined;
  token_type?: string | undefined;
}

type Lists = { [List in (typeof LISTS)[number]]?: string[] | undefined };

const VISIBILITIES = ['', 'hidden', 'unauth'] as const;

/**
 * Applies settings to a mount's configuration.
 *
 * @throws Failure `invalid` for times that contradict each other
 */
export function planConfig(config: MountConfig, settings: MountSettings): MountConfig {
  const next: MountConfig = { ...config };
  const { default_lease_ttl, max_lease_ttl } = settings;
  if (typeof default_lease_ttl === 'number') next.default_lease_ttl = default_lease_ttl;
  if (typeof max_lease_ttl === 'number') next.max_lease_ttl = max_lease_ttl;
  const max = next.max_lease_ttl || SYSTEM_LEASE_TTL;
  if (next.default_lease_ttl > max) {
    throw invalid(
      next.max_lease_ttl > 0
        ? `given default lease TTL greater than given max lease TTL: backend max lease TTL of ${max} would be less than backend default lease TTL of ${next.default_lease_ttl}`
        : `given default lease TTL greater than system max lease TTL of ${max}`,
    );
  }
  const visibility = settings.listing_visibility;
  if (visibility !== undefined) {
    const known = VISIBILITIES.find((name) => name === visibility);
    if (known === undefined) {
      throw invalid(`invalid listing_visibility "${visibility}": "", "hidden" or "unauth"`);
    }
    next.listing_visibility = known;
  }
  if (settings.force_no_cache !== undefined) next.force_no_cache = settings.force_no_cache;
  if (settings.token_type !== undefined) next.token_type = settings.token_type;
  for (const name of LISTS) {
    const value = settings[name];
    if (value !== undefined) next[name] = value.filter((item) => item !== '');
  }
  return next;
}

/** The optional lists of a mount's configuration; an empty one is left out of answers. */
export const LISTS = [
  'passthrough_request_headers',
  'allowed_response_headers',
  'audit_non_hmac_request_keys',
  'audit_non_hmac_response_keys',
  'allowed_managed_keys',
  'delegated_auth_accessors',
] as const;
