import { z } from 'zod';
import { Breath } from '../../core/breath.ts';
import { Failure } from '../../core/failure.ts';
import { choice, stringMap } from '../../core/fields.ts';
import { policyList } from '../tokens/field-kinds.ts';
import { MOST_CHARACTERS } from '../tokens/policy-names.ts';
import { orNull, timeOf } from './entity.ts';

export const GROUP_TYPES = ['internal', 'external'] as const;

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
export interface Group extends GroupSettings {
  id: string;
  name: string;
  version: number;
  created_at_ms: number;
  updated_at_ms: number;
}

/** What one auth mount calls an external group. */
export interface GroupAlias {
  id: string;
  group_id: string;
  mount_accessor: string;
  name: string;
  created_at_ms: number;
  updated_at_ms: number;
}

/**
 * Which groups there are, and which of them are members of which; who is in them, and what they are
 * besides, is asked for one by one: together they may be more than there is memory for.
 */
export interface GroupTree {
  ids: ReadonlySet<string>;
  /** Groups that a group is a member of, by its id. */
  parents: ReadonlyMap<string, readonly string[]>;
}

export function groupTree(
  ids: readonly string[],
  memberships: readonly { group_id: string; member_id: string }[],
): GroupTree {
  const parents = new Map<string, string[]>();
  for (const { group_id, member_id } of memberships) {
    const known = parents.get(member_id);
    if (known) known.push(group_id);
    else parents.set(member_id, [group_id]);
  }
  return { ids: new Set(ids), parents };
}

/** Groups above some others, however far up, without those themselves; in the order found. */
export function listGroupsAbove(tree: GroupTree, ids: readonly string[]): string[] {
  const seen = new Set(ids);
  const above: string[] = [];
  // Whoever is found is appended, and looked at in turn.
  const waiting = [...ids];
  for (const id of waiting) {
    for (const parent of tree.parents.get(id) ?? []) {
      if (seen.has(parent)) continue;
      seen.add(parent);
      above.push(parent);
      waiting.push(parent);
    }
  }
  return above;
}

/** Most policies that somebody has by an entity and all groups above it. */
export const MOST_POLICIES = 1000;

/** Most characters of metadata that somebody has by an entity, its aliases and all groups above it. */
export const MOST_METADATA = 1 << 20;

export const TOO_MANY_POLICIES = `an entity with its groups, and groups above those, has at most ${MOST_POLICIES} policies, with names of ${MOST_CHARACTERS} characters in all, and ${MOST_METADATA} characters of metadata`;

/** What gives policies to somebody, or says something of them. */
export interface Holder {
  policies: readonly string[];
  metadata: Readonly<Record<string, string>>;
}

/** The policies of some holders together, each once; undefined for more of anything than anybody may have. */
export async function unitePolicies(
  holders: Iterable<Holder> | AsyncIterable<Holder>,
): Promise<ReadonlySet<string> | undefined> {
  const united = new Set<string>();
  let characters = 0;
  let told = 0;
  const breath = new Breath();
  for await (const { policies, metadata } of holders) {
    await breath.take();
    for (const name of policies) {
      if (!united.has(name)) characters += name.length;
      united.add(name);
    }
    for (const [key, value] of Object.entries(metadata)) told += key.length + value.length;
    const isMuch = united.size > MOST_POLICIES || characters > MOST_CHARACTERS;
    if (isMuch || told > MOST_METADATA) return undefined;
  }
  return united;
}

/**
 * @param id the group that is to have the members
 * @throws Failure `invalid` when one of them is the group itself, above it, or not there
 */
export function checkMemberGroups(tree: GroupTree, id: string, members: readonly string[]): void {
  const above = new Set([id, ...listGroupsAbove(tree, [id])]);
  for (const member of members) {
    if (!tree.ids.has(member)) {
      throw new Failure('invalid', `member_group_ids: there is no group "${member}"`);
    }
    if (above.has(member)) {
      throw new Failure(
        'invalid',
        `member_group_ids: group "${member}" would be a member of itself (cyclic relationship)`,
      );
    }
  }
}

export function describeGroup(
  group: Group,
  more: {
    alias: Record<string, unknown> | undefined;
    member_entity_ids: readonly string[];
    member_group_ids: readonly string[];
    parent_group_ids: readonly string[];
  },
): Record<string, unknown> {
  return {
    alias: more.alias ?? {},
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
