import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { jsonBytes, Kept } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import { canonicalPolicies } from '../tokens/policy-names.ts';
import { readAliases } from './aliases.store.ts';
import { findEntityById } from './entities.store.ts';
import type { Alias, Entity } from './entity.ts';
import { TOO_MANY_POLICIES, unitePolicies } from './group.ts';
import { holdersFrom, withGroupsOf } from './memberships.operations.ts';

/** An entity with everything that decides what it may do. */
export interface Person {
  entity: Entity;
  /**
   * Policies of the entity and of its groups: sorted, each once, never `root`. Undefined for more
   * than are read.
   */
  policies: readonly string[] | undefined;
  /** For templates, which find out the rest: see `facts/operations.ts`. */
  facts: IdentityFacts;
  /** How often each of its aliases became another one. */
  alias_moves: ReadonlyMap<string, number>;
}

/**
 * Policies that an entity has by itself and by its groups; none when there is no such entity.
 *
 * @throws Failure `forbidden` when they are more than are read
 */
export async function listEntityPolicies(app: App, id: string): Promise<readonly string[]> {
  const person = await findPerson(app, id);
  return person ? requirePolicies(person) : [];
}

export function requirePolicies({ policies }: Person): readonly string[] {
  if (policies) return policies;
  throw new Failure('forbidden', `permission denied: ${TOO_MANY_POLICIES}`);
}

/** An entity with its groups, remembered until configuration changes. */
export async function findPerson(app: App, id: string): Promise<Person | undefined> {
  const known = await app.cached(
    'identity:persons',
    async () => new Kept(ROOMS.persons, weighPerson, LARGEST_PART),
  );
  return (await known.get(id, async () => ({ person: await loadPerson(app, id) }))).person;
}

/** Whoever has the most still has room: what is permitted is asked for with every request. */
export const LARGEST_PART = 3 / 4;

// What there is no person or no permission for is remembered, too, and takes little.
export const weighPerson = ({ person }: { person: Person | undefined }): number =>
  person ? jsonBytes(person) + ALIAS_BYTES * person.alias_moves.size : 0;

/** An alias, besides its text. */
const ALIAS_BYTES = 288;

async function loadPerson(app: App, id: string): Promise<Person | undefined> {
  const entity = await findEntityById(app.db, id);
  if (!entity) return undefined;
  const united = await withGroupsOf(app, { id, kind: 'entity' }, ({ direct, above }) =>
    unitePolicies(holdersFrom(app, [entity], [...direct, ...above])),
  );
  // Refused when written; what is stored is not trusted with this. Nothing is decided by a part of it.
  const policies = united && canonicalPolicies([...united]).filter((name) => name !== 'root');
  const aliases: Alias[] = [];
  for await (const alias of readAliases(app.db, id))
    aliases.push({ ...alias, custom_metadata: {} });
  return {
    entity,
    policies,
    facts: factsOf(entity, aliases),
    alias_moves: new Map(aliases.map(({ id, moves }) => [id, moves])),
  };
}

/** What others may say of somebody at any length, of groups and aliases, is not among it. */
function factsOf({ id, name, metadata }: Entity, aliases: readonly Alias[]): IdentityFacts {
  const told = aliases.map(({ id, mount_accessor, name, custom_metadata }) => [
    mount_accessor,
    { id, name, metadata: {}, custom_metadata },
  ]);
  return { entity: { id, name, metadata, aliases: Object.fromEntries(told) }, groups: [] };
}
