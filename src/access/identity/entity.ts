import { z } from 'zod';
import { flag, stringMap } from '../../core/fields.ts';
import type { Immutable } from '../../core/immutable.ts';
import { policyList } from '../tokens/field-kinds.ts';
import {
  type AliasMount,
  type AliasRecord,
  absent,
  aliasFields,
  describeMountAlias,
  mergeFields,
  metadata,
  type NamedRecord,
  nameKey,
  namespace_id,
  orNull,
  recordFields,
  timeOf,
} from './record.ts';

/** What an operator says of an entity. */
export const entityFields = {
  metadata: stringMap({}).describe('Names with values, for templates. At most 64.'),
  policies: policyList([]).describe('Policies of every token that stands for the entity.'),
  disabled: flag(false).describe('Refuse its tokens and its log-ins.'),
};
const entitySchema = z.object(entityFields);
export type EntitySettings = z.output<typeof entitySchema>;

/** Somebody or something that logs in, in one way or several. */
export type Entity = NamedRecord & EntitySettings;

/** What one auth mount calls an entity. */
export interface Alias extends AliasRecord {
  entity_id: string;
  custom_metadata: Record<string, string>;
  /** How often it got another name or mount, or became somebody else's. */
  moves: number;
}

/** Whether two states of an alias call the same entity by the same name on the same mount. */
export function isSameAlias(before: Alias, next: Alias): boolean {
  return (
    before.entity_id === next.entity_id &&
    before.mount_accessor === next.mount_accessor &&
    nameKey(before.name) === nameKey(next.name)
  );
}

const aliasNameSchema = z.object({ ...aliasFields, local: z.boolean().describe('Always false.') });
export const aliasInfoSchema = aliasNameSchema.extend({
  ...mergeFields,
  custom_metadata: metadata,
});
export type AliasInfo = z.output<typeof aliasInfoSchema>;
export const aliasAnswerSchema = aliasInfoSchema.extend({ namespace_id });

export const entityAnswerSchema = z.object({
  ...recordFields,
  namespace_id,
  aliases: z.array(aliasInfoSchema),
  direct_group_ids: z.array(z.string()).describe('Groups that it is itself a member of.'),
  inherited_group_ids: z.array(z.string()).describe('Groups above those.'),
  group_ids: z.array(z.string()).describe('All of them.'),
  merged_entity_ids: absent,
  metadata,
  policies: entityFields.policies,
  disabled: entityFields.disabled,
});
type EntityAnswer = Immutable<z.output<typeof entityAnswerSchema>>;

/** What a list of entities tells of each. */
export const entityInfoSchema = z.object({ name: z.string(), aliases: z.array(aliasNameSchema) });
export type EntityInfo = z.output<typeof entityInfoSchema>;

export const writtenEntitySchema = z.object({
  id: z.string(),
  name: z.string(),
  aliases: z.null().describe('Always null: it has none yet.'),
});
export type WrittenEntity = z.output<typeof writtenEntitySchema>;

export function describeEntity(
  entity: Entity,
  aliases: readonly AliasInfo[],
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

export function describeAlias(alias: Alias, mount: AliasMount | undefined): AliasInfo {
  return {
    ...nameAlias(alias, mount),
    custom_metadata: orNull(alias.custom_metadata),
    merged_from_canonical_ids: null,
    metadata: null,
  };
}

/** As {@link describeAlias}, without what others say of it. */
export const nameAlias = (
  alias: AliasRecord & Pick<Alias, 'entity_id'>,
  mount: AliasMount | undefined,
): z.output<typeof aliasNameSchema> =>
  describeMountAlias(alias, { mount, canonical_id: alias.entity_id, local: false });
