import type { App } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { findEntityById } from './entities.store.ts';
import { type Group, listReached, TOO_MANY_POLICIES, unitePolicies } from './group.ts';
import { holdersFrom, withGroupsOf } from './memberships.operations.ts';
import { listMembers, type MemberKind } from './memberships.store.ts';

/** A group as it will be. */
interface GroupChange {
  group: Group;
  /** What its members have by it, and by those above it. */
  given: ReadonlySet<string>;
  /** Whether it has policies of its own that it has not had. */
  gives_more: boolean;
  /** Of each kind all that it is to have; undefined where they stay. */
  members: Readonly<Record<MemberKind, readonly string[] | undefined>>;
}

/** Entities that are checked before a group gives them something: some tenths of a millisecond each. */
const MOST_CHECKED = 10_000;

/** What a group may give to more than those, who are not checked. */
const GIVEN_TO_MANY = 100;

/**
 * As `requireFewPolicies`, of everybody to whom a change of a group gives something, however far beneath it
 * they are: whoever had more than are read would be permitted nothing any more.
 */
export async function requireFewBeneath(app: App, change: GroupChange): Promise<void> {
  if (change.given.size === 0) return;
  const named = await listConcerned(app, change, 'entity');
  const breath = new Breath();
  let checked = 0;
  for await (const id of listBeneath(app, named, await listConcerned(app, change, 'group'))) {
    await breath.take();
    if (++checked > MOST_CHECKED) return requireFewForMany(change);
    if (await hasRoomFor(app, change, id)) continue;
    const field = change.gives_more ? 'policies' : 'member_group_ids';
    const who = change.members.entity?.includes(id)
      ? `member_entity_ids: "${id}"`
      : `${field}: somebody in the group`;
    throw invalid(`${who}: ${TOO_MANY_POLICIES}`);
  }
}

/** Members to whom the change gives something: all, or those who come. */
async function listConcerned(
  app: App,
  { group, gives_more, members }: GroupChange,
  kind: MemberKind,
): Promise<readonly string[]> {
  const { [kind]: sent } = members;
  if (!sent && !gives_more) return [];
  const before = await listMembers(app.db, group.id, kind);
  if (gives_more) return sent ?? before;
  const known = new Set(before);
  return (sent ?? []).filter((id) => !known.has(id));
}

/** Some entities, and those of some groups and of all groups beneath them, each once. */
async function* listBeneath(
  { db }: App,
  entities: readonly string[],
  groups: readonly string[],
): AsyncGenerator<string> {
  const seen = new Set(entities);
  yield* seen;
  const childrenOf = async function* (level: readonly string[]) {
    for (const id of level) yield await listMembers(db, id, 'group');
  };
  const below = await listReached(groups, childrenOf);
  for (const group of new Set([...groups, ...below])) {
    for (const id of await listMembers(db, group, 'entity')) {
      if (seen.has(id)) continue;
      seen.add(id);
      yield id;
    }
  }
}

/** Whether an entity would not have more than is read, or has more already and so nothing to lose. */
async function hasRoomFor(
  app: App,
  { group, given }: GroupChange,
  entity_id: string,
): Promise<boolean> {
  const entity = await findEntityById(app.db, entity_id);
  if (!entity) return true;
  return withGroupsOf(app, { id: entity_id, kind: 'entity' }, async ({ direct, above }) => {
    const ids = [...direct, ...above];
    const others = ids.filter((id) => id !== group.id);
    const first = [entity, { policies: [...given] }];
    return (
      (await unitePolicies(holdersFrom(app, first, others))) !== undefined ||
      (await unitePolicies(holdersFrom(app, [entity], ids))) === undefined
    );
  });
}

function requireFewForMany({ given }: GroupChange): void {
  if (given.size <= GIVEN_TO_MANY) return;
  throw invalid(
    `policies: a group gives at most ${GIVEN_TO_MANY} to more than ${MOST_CHECKED} entities`,
  );
}
