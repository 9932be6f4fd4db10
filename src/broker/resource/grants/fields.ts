import { memoizeWeak } from '../../../core/memoize-weak.ts';
import type { Grant } from './grant.ts';

/**
 * Fields that items of the broker show, at their top level. Grants may name anything in `output_fields`; what is
 * none of these nothing has, and nobody is shown. A field that is missing here is shown to those alone who are
 * shown all.
 */
const ITEM_FIELDS = [
  'id', 'scope', 'scope_id', 'name', 'description', 'created_time', 'updated_time', 'version', 'type',
  'attributes', 'authorized_actions', 'authorized_collection_actions',
  'primary_auth_method_id', 'storage_policy_id', 'is_primary', 'auth_method_id', 'auth_token_id',
  'account_id', 'account_ids', 'accounts', 'primary_account_id', 'login_name', 'full_name', 'email',
  'user_id', 'member_ids', 'members', 'managed_group_ids', 'approximate_last_used_time', 'expiration_time',
  'principal_ids', 'principals', 'grant_strings', 'grants', 'grant_scope_id', 'grant_scope_ids',
  'plugin', 'plugin_id', 'host_catalog_id', 'host_id', 'host_ids', 'host_set_id', 'host_set_ids',
  'ip_addresses', 'dns_names', 'external_id', 'external_name', 'preferred_endpoints',
  'sync_interval_seconds', 'secrets_hmac', 'worker_filter', 'egress_worker_filter',
  'ingress_worker_filter', 'address', 'session_max_seconds', 'session_connection_limit',
  'host_sources', 'host_source_ids', 'brokered_credential_sources', 'brokered_credential_source_ids',
  'injected_application_credential_sources', 'injected_application_credential_source_ids', 'aliases',
  'value', 'destination_id', 'target_id', 'endpoint', 'status', 'states', 'certificate',
  'termination_reason', 'connections', 'credential_store_id', 'credential_type',
  'credential_mapping_overrides', 'canonical_tags', 'config_tags', 'api_tags', 'last_status_time',
  'active_connection_count', 'release_version', 'local_storage_state', 'remote_storage_state',
  'directly_connected_downstream_workers', 'controller_generated_activation_token',
  'worker_generated_auth_token', 'bucket_name', 'bucket_prefix', 'session_id', 'storage_bucket_id',
  'bytes_up', 'bytes_down', 'start_time', 'end_time', 'duration', 'state', 'error_details', 'mime_types',
  'connection_recordings', 'create_time_values', 'retain_until', 'delete_after',
] as const; // biome-ignore format: one table

const BITS: ReadonlyMap<string, bigint> = new Map(
  ITEM_FIELDS.map((name, at) => [name, 1n << BigInt(at)]),
);

export const isItemField = (name: string): boolean => BITS.has(name);

/**
 * Some of those fields, a bit each: whoever is asked about thousands of things keeps a set for each of them, and
 * a number is a few words however many grants it is the sum of. `|` is what both say.
 */
export type FieldBits = bigint;

export const EVERY_FIELD: FieldBits = -1n;

export const bitsOf = (names: Iterable<string>): FieldBits => {
  let bits = 0n;
  for (const name of names) bits |= name === '*' ? EVERY_FIELD : (BITS.get(name) ?? 0n);
  return bits;
};

/** What a grant says of fields. */
export const fieldsOfGrant = memoizeWeak(({ output_fields = [] }: Grant) => bitsOf(output_fields));

/** Fields of which an item shows those that it has. */
export class ShownFields {
  readonly #bits: FieldBits;

  constructor(bits: FieldBits) {
    this.#bits = bits;
  }

  has(name: string): boolean {
    return (this.#bits & (BITS.get(name) ?? 0n)) !== 0n;
  }

  /** In no order that means anything. */
  get names(): string[] {
    return ITEM_FIELDS.filter((name) => this.has(name));
  }
}
