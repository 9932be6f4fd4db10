import { z } from 'zod';
import type { Shown } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { flag, stringMap } from '../../core/fields.ts';
import { foldName } from '../../core/fold.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { policyList } from '../tokens/field-kinds.ts';
import { canonicalPolicies } from '../tokens/policy-names.ts';

/** What an operator says of an entity. */
export const entityFields = {
  metadata: stringMap({}).describe('Names with values, for templates. At most 64.'),
  policies: policyList([]).describe('Policies of every token that stands for the entity.'),
  disabled: flag(false).describe('Refuse its tokens and its log-ins.'),
};
const entitySchema = z.object(entityFields);
export type EntitySettings = z.output<typeof entitySchema>;

/** Somebody or something that logs in, in one way or several. Times in milliseconds. */
export interface Entity extends EntitySettings {
  id: string;
  name: string;
  version: number;
  created_at_ms: number;
  updated_at_ms: number;
}

/** What one auth mount calls an entity. */
export interface Alias {
  id: string;
  entity_id: string;
  mount_accessor: string;
  name: string;
  custom_metadata: Record<string, string>;
  /** How often it got another name or mount, or became somebody else's. */
  moves: number;
  created_at_ms: number;
  updated_at_ms: number;
}

/** Whether two states of an alias call the same entity by the same name on the same mount. */
export function isSameAlias(before: Alias, next: Alias): boolean {
  return (
    before.entity_id === next.entity_id &&
    before.mount_accessor === next.mount_accessor &&
    nameKey(before.name) === nameKey(next.name)
  );
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
    throw new Failure(
      'invalid',
      `${field}: at most ${MAX_METADATA} names of up to 128 characters, with values of up to 512`,
    );
  }
}

/**
 * Policy names as they are kept: lower case, sorted, each once.
 *
 * @throws Failure `invalid` for `root`, which no identity gives
 */
export function requireIdentityPolicies(names: readonly string[]): string[] {
  const policies = canonicalPolicies(names);
  if (policies.includes('root')) throw new Failure('invalid', 'policies cannot contain root');
  return policies;
}

/** @throws Failure `invalid` for a name that could not be asked for again */
export function checkName(field: string, name: string): void {
  if (name.length > 256 || /[\p{Cc}/]/u.test(name)) {
    throw new Failure(
      'invalid',
      `${field} must be up to 256 characters without slashes and control characters`,
    );
  }
}

/** Names that differ in case only are the same name. */
export const nameKey = (name: string): string => foldName(name);

export const timeOf = (ms: number): string => formatTimestamp(Math.floor(ms / 1000));

export const orNull = (map: Readonly<Record<string, string>>) =>
  Object.keys(map).length > 0 ? map : null;

/** What is told of every record. */
export const toldFields = {
  id: z.string(),
  name: z.string(),
  creation_time: z.string().describe('E.g. "2030-01-31T12:00:00Z".'),
  last_update_time: z.string().describe('When it was written last.'),
};
/** A list of records by their ids, with what is told of each. */
export const toldSchema = <Info extends z.ZodType>(info: Info) =>
  z.object({
    keys: z.array(z.string()).describe('Ids.'),
    key_info: z.record(z.string(), info).describe('What is told of each, by its id.'),
  });
export interface Told<Info> {
  keys: readonly string[];
  key_info: Readonly<Record<string, Info>>;
}
export const namesSchema = z.object({ keys: z.array(z.string()).describe('Names.') });

export const namespace_id = z.string().describe('Always "root".');
const never = z.null().describe('Always null.');
export const metadataOrNull = z.record(z.string(), z.string()).nullable();

/** What is told of an alias of either kind. */
export const aliasFields = {
  ...toldFields,
  name: z.string().describe('What the mount calls what it is an alias of.'),
  canonical_id: z.string().describe('Id of what it is an alias of.'),
  mount_accessor: z.string(),
  mount_path: z.string().describe('E.g. "auth/userpass/"; empty when the mount is gone.'),
  mount_type: z.string().describe('E.g. "userpass"; empty when the mount is gone.'),
};
export const mergeFields = { merged_from_canonical_ids: never, metadata: never };

const aliasNameSchema = z.object({ ...aliasFields, local: z.boolean().describe('Always false.') });
export const aliasSchema = aliasNameSchema.extend({
  ...mergeFields,
  custom_metadata: metadataOrNull,
});
export type AliasAnswer = z.output<typeof aliasSchema>;

export const entityAnswerSchema = z.object({
  ...toldFields,
  namespace_id,
  aliases: z.array(aliasSchema),
  direct_group_ids: z.array(z.string()).describe('Groups that it is itself a member of.'),
  inherited_group_ids: z.array(z.string()).describe('Groups above those.'),
  group_ids: z.array(z.string()).describe('All of them.'),
  merged_entity_ids: never,
  metadata: metadataOrNull,
  policies: entityFields.policies,
  disabled: entityFields.disabled,
});
export type EntityAnswer = Shown<z.output<typeof entityAnswerSchema>>;

/** What a list of entities tells of each. */
export const entityInfoSchema = z.object({ name: z.string(), aliases: z.array(aliasNameSchema) });
export type EntityInfo = z.output<typeof entityInfoSchema>;

export const writtenEntitySchema = z.object({
  id: z.string(),
  name: z.string(),
  aliases: z.null().describe('Always null: it has none yet.'),
});
export type WrittenEntity = z.output<typeof writtenEntitySchema>;

export const writtenAliasSchema = z.object({
  id: z.string(),
  canonical_id: aliasFields.canonical_id,
});
export type WrittenAlias = z.output<typeof writtenAliasSchema>;

export function describeEntity(
  entity: Entity,
  aliases: readonly AliasAnswer[],
  groups: { direct: readonly string[]; inherited: readonly string[] },
): EntityAnswer {
  return {
    aliases,
    creation_time: timeOf(entity.created_at_ms),
    direct_group_ids: groups.direct,
    disabled: entity.disabled,
    group_ids: [...new Set([...groups.direct, ...groups.inherited])],
    id: entity.id,
    inherited_group_ids: groups.inherited,
    last_update_time: timeOf(entity.updated_at_ms),
    merged_entity_ids: null,
    metadata: orNull(entity.metadata),
    name: entity.name,
    namespace_id: 'root',
    policies: entity.policies,
  };
}

export function describeAlias(alias: Alias, mount: AliasMount | undefined): AliasAnswer {
  return {
    ...nameAlias(alias, mount),
    custom_metadata: orNull(alias.custom_metadata),
    merged_from_canonical_ids: null,
    metadata: null,
  };
}

/** As {@link describeAlias}, without what others say of it. */
export function nameAlias(
  alias: Pick<
    Alias,
    'id' | 'entity_id' | 'mount_accessor' | 'name' | 'created_at_ms' | 'updated_at_ms'
  >,
  mount: AliasMount | undefined,
): z.output<typeof aliasNameSchema> {
  return {
    canonical_id: alias.entity_id,
    creation_time: timeOf(alias.created_at_ms),
    id: alias.id,
    last_update_time: timeOf(alias.updated_at_ms),
    local: false,
    mount_accessor: alias.mount_accessor,
    mount_path: mount?.path ?? '',
    mount_type: mount?.type ?? '',
    name: alias.name,
  };
}
