import { z } from 'zod';
import type { Mount } from '../app/mount.ts';
import { COMPATIBLE_VERSION } from '../core/version.ts';
import { LISTS } from './rules.ts';

const texts = () => z.array(z.string()).optional();

/** Settings that answers leave out where there is nothing in them. */
const setSettings = {
  listing_visibility: z.enum(['hidden', 'unauth']).optional(),
  token_type: z.string().optional().describe('Auth mounts: what kind of token a log-in makes.'),
  passthrough_request_headers: texts(),
  allowed_response_headers: texts(),
  audit_non_hmac_request_keys: texts(),
  audit_non_hmac_response_keys: texts(),
  allowed_managed_keys: texts(),
  delegated_auth_accessors: texts(),
};

const options = z.record(z.string(), z.string()).describe('Options of the engine.');

/** The entry of `sys/mounts` and `sys/auth`. */
export const mountSchema = z.object({
  accessor: z.string(),
  config: z.object({
    default_lease_ttl: z.int().describe("Seconds; 0: the server's."),
    force_no_cache: z.boolean(),
    max_lease_ttl: z.int().describe("Seconds; 0: the server's."),
    ...setSettings,
  }),
  deprecation_status: z.string(),
  description: z.string(),
  external_entropy_access: z.boolean(),
  local: z.boolean(),
  options: options.nullable(),
  plugin_version: z.string(),
  running_plugin_version: z.string(),
  running_sha256: z.string(),
  seal_wrap: z.boolean(),
  type: z.string(),
  uuid: z.string(),
});

/** What everybody is told of a mount that is listed to them. */
export const listedMountSchema = mountSchema.pick({
  type: true,
  description: true,
  options: true,
});

/** The answer of `sys/mounts/:path/tune`. */
export const tuneSchema = z.object({
  description: z.string(),
  default_lease_ttl: z.int().describe('Seconds, as it applies.'),
  max_lease_ttl: z.int().describe('Seconds, as it applies.'),
  force_no_cache: z.boolean(),
  options: options.optional(),
  ...setSettings,
});

export function describeMount(mount: Mount) {
  const { config } = mount;
  return {
    accessor: mount.accessor,
    config: {
      default_lease_ttl: config.default_lease_ttl,
      force_no_cache: config.force_no_cache,
      max_lease_ttl: config.max_lease_ttl,
      ...describeSettings(mount),
    },
    deprecation_status: 'supported',
    description: mount.description,
    external_entropy_access: mount.external_entropy_access,
    local: mount.local,
    options: mount.options,
    plugin_version: '',
    running_plugin_version: `v${COMPATIBLE_VERSION}+builtin.vault`,
    running_sha256: '',
    seal_wrap: mount.seal_wrap,
    type: mount.type,
    uuid: mount.id,
  };
}

export function describeSettings({ kind, config }: Mount) {
  const { listing_visibility } = config;
  const lists = LISTS.filter((name) => config[name].length > 0);
  return {
    ...(listing_visibility !== '' && { listing_visibility }),
    ...(kind === 'auth' && { token_type: config.token_type || 'default-service' }),
    ...Object.fromEntries(lists.map((name) => [name, config[name]])),
  };
}
