import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';
import { mergePatch } from '../../core/patches.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { canonicalPolicies } from '../tokens/policy-names.ts';

/** What has a name of its own: an entity, or a group. Times in milliseconds. */
export interface NamedRecord {
  id: string;
  name: string;
  version: number;
  created_at_ms: number;
  updated_at_ms: number;
}

/** What one auth mount calls an entity, or an external group. */
export interface AliasRecord {
  id: string;
  mount_accessor: string;
  name: string;
  created_at_ms: number;
  updated_at_ms: number;
}

/** Where the mount of an alias is, for answers; absent when it is gone. */
export interface AliasMount {
  type: string;
  /** With `auth/` before it. */
  path: string;
}

const MAX_METADATA = 64;

/** @throws Failure `invalid` naming the field */
export function checkMetadata(field: string, metadata: Readonly<Record<string, string>>): void {
  const entries = Object.entries(metadata);
  const isLong = entries.some(([key, value]) => key.length > 128 || value.length > 512);
  if (entries.length > MAX_METADATA || isLong) {
    throw invalid(
      `${field}: at most ${MAX_METADATA} names of up to 128 characters, with values of up to 512`,
    );
  }
}

/**
 * Policy names as they are kept: lower case, sorted, each once.
 *
 * @throws Failure `invalid` for `root`, which no identity gives
 */
function requireIdentityPolicies(names: readonly string[]): string[] {
  const policies = canonicalPolicies(names);
  if (policies.includes('root')) throw invalid('policies cannot contain root');
  return policies;
}

/** @throws Failure `invalid` for a name that could not be asked for again */
export function checkName(name: string): void {
  if (name.length > 256 || /[\p{Cc}/]/u.test(name)) {
    throw invalid('name must be up to 256 characters without slashes and control characters');
  }
}

/** Names that differ in case only are the same name. */
export const nameKey = (name: string): string => foldName(name);

/** Settings with those that were sent in their place. */
export function planSettings<
  Settings extends { metadata: Record<string, string>; policies: string[] },
>(existing: Settings, sent: { [Name in keyof Settings]?: Settings[Name] | undefined }): Settings {
  const merged = mergePatch(existing, sent);
  checkMetadata('metadata', merged.metadata);
  return { ...merged, policies: requireIdentityPolicies(merged.policies) };
}

/** What is told of every record. */
export const recordFields = {
  id: z.string(),
  name: z.string(),
  creation_time: z.string().describe('E.g. "2030-01-31T12:00:00Z".'),
  last_update_time: z.string().describe('When it was written last.'),
};
export const namespace_id = z.string().describe('Always "root".');
export const absent = z.null().describe('Always null.');
export const metadata = z.record(z.string(), z.string()).nullable().describe('Null for none.');

/** What is told of every alias. */
export const aliasFields = {
  ...recordFields,
  name: z.string().describe('What the mount calls what it is an alias of.'),
  canonical_id: z.string().describe('Id of what it is an alias of.'),
  mount_accessor: z.string(),
  mount_path: z.string().describe('E.g. "auth/userpass/"; empty when the mount is gone.'),
  mount_type: z.string().describe('E.g. "userpass"; empty when the mount is gone.'),
};
export const mergeFields = { merged_from_canonical_ids: absent, metadata: absent };

/** What is told of an alias that was written. */
export const writtenAliasSchema = z.object({
  id: z.string(),
  canonical_id: aliasFields.canonical_id,
});
export type WrittenAlias = z.output<typeof writtenAliasSchema>;

export const namesSchema = z.object({ keys: z.array(z.string()).describe('Names.') });
/** A list of ids. */
export const toldSchema = <Info extends z.ZodType>(info: Info) =>
  z.object({
    keys: z.array(z.string()).describe('Ids.'),
    key_info: z.record(z.string(), info).describe('What is told of each, by its id.'),
  });

export const timeOf = (ms: number): string => formatTimestamp(Math.floor(ms / 1000));

export const orNull = (map: Readonly<Record<string, string>>) =>
  Object.keys(map).length > 0 ? map : null;

/** What is told of an alias of either kind, and what of that kind alone. */
export const describeMountAlias = <More>(
  alias: AliasRecord,
  { mount, canonical_id, ...more }: { mount: AliasMount | undefined; canonical_id: string } & More,
) => ({
  canonical_id,
  creation_time: timeOf(alias.created_at_ms),
  id: alias.id,
  last_update_time: timeOf(alias.updated_at_ms),
  ...more,
  mount_accessor: alias.mount_accessor,
  mount_path: mount?.path ?? '',
  mount_type: mount?.type ?? '',
  name: alias.name,
});
