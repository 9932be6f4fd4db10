import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { choice, stringMap } from '../../core/fields.ts';
import type { Immutable } from '../../core/immutable.ts';
import { policyList } from '../tokens/field-kinds.ts';
import { MOST_CHARACTERS } from '../tokens/policy-names.ts';
import {
  type AliasMount,
  type AliasRecord,
  aliasFields,
  describeMountAlias,
  mergeFields,
  metadata,
  type NamedRecord,
  namespace_id,
  orNull,
  recordFields,
  timeOf,
} from './record.ts';

const GROUP_TYPES = ['internal', 'external'] as const;

/** What an operator says of a group. */
export const groupFields = {
  type: choice(GROUP_TYPES, 'internal').describe(
    'Internal groups have members that are named; external ones those an auth mount puts there.',
  ),
  metadata: stringMap({}).describe('Names with values, for templates. At most 64.'),
  policies: policyList([]).describe('Policies of the tokens of all its members.'),
};
const groupSchema = z.object(groupFields);
export type GroupSettings = z.output<typeof groupSchema>;

/** Entities, and members of other groups, that are granted something together. */
export type Group = NamedRecord & GroupSettings;

/** What one auth mount calls an external group. */
export interface GroupAlias extends AliasRecord {
  group_id: string;
}

/**
 * What is above or beneath some things, however far, without those themselves; in the order found. Each is looked
 * at once, many ways though there are to it.
 *
 * @param nextOf is asked about all that were found since it was asked before, and how often it was; what it
 *   finds further on besides is taken, too
 * @param most once more than so many were found nothing further is looked at
 */
export async function listReached(
  ids: readonly string[],
  nextOf: (ids: readonly string[], asked: number) => AsyncIterable<readonly string[]>,
  most = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const seen = new Set(ids);
  const reached: string[] = [];
  const breath = new Breath();
  for (let level = [...seen], asked = 0; level.length > 0; asked++) {
    const next: string[] = [];
    for await (const found of nextOf(level, asked)) {
      await breath.take();
      for (const id of found) {
        if (seen.has(id)) continue;
        seen.add(id);
        next.push(id);
      }
      if (reached.length + next.length > most) break;
    }
    for (const id of next) reached.push(id);
    if (reached.length > most) break;
    level = next;
  }
  return reached;
}

/** Groups that are members of groups, each as often as it is one: whoever is in one is in all above it. */
export const MOST_NESTINGS = 10_000;

/** Most policies that somebody has by an entity and all groups above it. */
const MOST_POLICIES = 1000;

export const TOO_MANY_POLICIES = `an entity with its groups, and groups above those, has at most ${MOST_POLICIES} policies, with names of ${MOST_CHARACTERS} characters in all`;

/** What gives policies to somebody. */
export interface Holder {
  policies: readonly string[];
}

/** The policies of some holders together, each once; undefined for more than anybody may have. */
export async function unitePolicies(
  holders: Iterable<Holder> | AsyncIterable<Holder>,
): Promise<ReadonlySet<string> | undefined> {
  const united = new Set<string>();
  let characters = 0;
  const breath = new Breath();
  for await (const { policies } of holders) {
    await breath.take();
    for (const name of policies) {
      if (!united.has(name)) characters += name.length;
      united.add(name);
    }
    if (united.size > MOST_POLICIES || characters > MOST_CHARACTERS) return undefined;
  }
  return united;
}

/**
 * @param known which groups there are, and which of them are above the one that is to have the members
 * @throws Failure `invalid` when a member is that group itself, above it, or not there
 */
export function checkMemberGroups(
  id: string,
  members: readonly string[],
  known: { ids: ReadonlySet<string>; above: readonly string[] },
): void {
  const above = new Set([id, ...known.above]);
  for (const member of members) {
    if (!known.ids.has(member)) throw invalid(`member_group_ids: there is no group "${member}"`);
    if (above.has(member)) {
      throw invalid(
        `member_group_ids: group "${member}" would be a member of itself (cyclic relationship)`,
      );
    }
  }
}

export const groupAliasSchema = z.object({ ...aliasFields, ...mergeFields });
type GroupAliasInfo = z.output<typeof groupAliasSchema>;

export const groupAnswerSchema = z.object({
  ...recordFields,
  namespace_id,
  alias: groupAliasSchema.partial().describe('Empty without one.'),
  member_entity_ids: z.array(z.string()),
  member_group_ids: z.array(z.string()),
  parent_group_ids: z.array(z.string()).describe('Groups that it is itself a member of.'),
  metadata,
  modify_index: z.int().describe('How often it was written.'),
  policies: groupFields.policies,
  type: groupFields.type,
});
type GroupAnswer = Immutable<z.output<typeof groupAnswerSchema>>;

/** What a list of groups tells of each. */
export const groupInfoSchema = z.object({
  name: z.string(),
  num_member_entities: z.int(),
  num_parent_groups: z.int(),
});
export type GroupInfo = z.output<typeof groupInfoSchema>;

export const writtenGroupSchema = z.object({ id: z.string(), name: z.string() });
export type WrittenGroup = z.output<typeof writtenGroupSchema>;

export function describeGroup(
  group: Group,
  more: Pick<GroupAnswer, 'alias' | `member_${'entity' | 'group'}_ids` | 'parent_group_ids'>,
): GroupAnswer {
  return {
    alias: more.alias,
    creation_time: timeOf(group.created_at_ms),
    id: group.id,
    last_update_time: timeOf(group.updated_at_ms),
    member_entity_ids: more.member_entity_ids,
    member_group_ids: more.member_group_ids,
    metadata: orNull(group.metadata),
    modify_index: group.version,
    name: group.name,
    namespace_id: 'root',
    parent_group_ids: more.parent_group_ids,
    policies: group.policies,
    type: group.type,
  };
}

export const describeGroupAlias = (
  alias: GroupAlias,
  mount: AliasMount | undefined,
): GroupAliasInfo =>
  describeMountAlias(alias, {
    mount,
    canonical_id: alias.group_id,
    merged_from_canonical_ids: null,
    metadata: null,
  });
