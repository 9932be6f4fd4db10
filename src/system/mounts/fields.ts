import { z } from 'zod';
import { flag, integer, optional, stringMap, text } from '../../core/fields.ts';
import { leaseTtl, settingList } from './field-kinds.ts';

const ttl = (example: string) =>
  optional(leaseTtl()).describe(
    `Seconds, text such as "${example}", or "system". 0: the server's.`,
  );
const list = (what: string) => optional(settingList()).describe(what);

/** How a mount is tuned. */
export const settings = {
  default_lease_ttl: ttl('8760h'),
  max_lease_ttl: ttl('87600h'),
  force_no_cache: optional(flag()).describe(
    'Kept and answered; nothing is cached beyond its truth here.',
  ),
  listing_visibility: optional(text()).describe(
    '"unauth" lists the mount to everybody, "hidden" or "" does not.',
  ),
  passthrough_request_headers: list('Request headers the engine may see.'),
  allowed_response_headers: list('Response headers the engine may set.'),
  audit_non_hmac_request_keys: list('Kept for clients that set it.'),
  audit_non_hmac_response_keys: list('Kept for clients that set it.'),
  allowed_managed_keys: list('Names of managed keys that the mount may use.'),
  delegated_auth_accessors: list('Auth mounts that protocols of this mount may log in with.'),
  token_type: optional(text()).describe('Auth mounts: what kind of token a log-in makes.'),
};

/** What else a mount is made with. */
export const ownFields = {
  type: text('').describe('The kind of engine.'),
  plugin_name: optional(text()).describe('Old name of type.'),
  description: optional(text()).describe('For people.'),
  options: optional(stringMap()).describe('Options of the engine.'),
  local: flag(false),
  seal_wrap: flag(false),
  external_entropy_access: flag(false),
  plugin_version: optional(text()),
  version: optional(integer()),
};

/** All fields of a request that makes or tunes a mount. */
export const mountFields = {
  ...ownFields,
  config: z
    .preprocess((value) => value ?? {}, z.object(settings))
    .describe('Settings of the new mount.'),
  ...settings,
};

/** What fields were called before. */
export const OLD_NAMES = { plugin_name: 'type' } as const;

/** What a new mount can be given that is tuned at an endpoint of its own. */
export const TUNED: readonly string[] = ['description', 'options', ...Object.keys(settings)];
