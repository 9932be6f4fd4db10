import type { Expression } from 'kysely';
import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { type IdentityFacts, weighFacts } from '../../core/identity-template.ts';
import { atMostOf, jsonBytes, Kept, textBytes } from '../../core/kept.ts';
import { remembered } from '../../core/remembered.ts';
import { ROOMS } from '../../core/rooms.ts';
import { fullPath, type Mount } from '../../mounts/mount.ts';
import { findMountByAccessor, readMounts } from '../../mounts/operations.ts';
import type { Effect, Write } from '../../store/write.ts';
import { type Acl, boundAcl } from '../acl.ts';
import type { Caller, LogInAlias } from '../caller.ts';
import { type EndingPages, noteEnding } from '../ended.ts';
import { commitPage } from '../endings/operations.ts';
import { listLeasesOfAliases, loosenLeases, loosenSome } from '../leases/store.ts';
import { readAcl } from '../policies/sets/operations.ts';
import { judgeBoundRules } from '../policy-limits.ts';
import { type BoundedToken, listPolicySets } from '../tokens/bounds.ts';
import { canonicalPolicies } from '../tokens/policy-names.ts';
import {
  deleteLogIns,
  deleteTreesByIds,
  ENDED,
  listLine,
  listTokensOfAliases,
  type OfLine,
} from '../tokens/store.ts';
import {
  type AliasesAt,
  aliasIds,
  deleteAliases,
  findAlias,
  holdAlias,
  insertAlias,
  readAliases,
  takeAliases,
} from './aliases/store.ts';
import { type Alias, type AliasMount, type Entity, isSameAlias, nameKey } from './entity.ts';
import { TOO_MANY_POLICIES, unitePolicies } from './group.ts';
import { holdersFrom, withGroupsOf } from './memberships/operations.ts';
import { findEntityById, holdEntity, insertEntity } from './store.ts';

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

/** What a token may do, with what it stands for added to its own. */
export interface Permissions {
  acl: Acl;
  identity: IdentityFacts | undefined;
  identity_policies: readonly string[];
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

function requirePolicies({ policies }: Person): readonly string[] {
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
const LARGEST_PART = 3 / 4;

// What there is no person or no permission for is remembered, too, and takes little.
export const weighPerson = ({ person }: { person: Person | undefined }): number =>
  person ? jsonBytes(person) + ALIAS_BYTES * person.alias_moves.size : 0;

/** An alias, besides its text. */
const ALIAS_BYTES = 288;

/** What they were made of is counted with each of them, as it may be gone from where it was read. */
function weighPermissions({ permissions }: Known): number {
  if (!permissions) return 0;
  const { acl, identity, identity_policies } = permissions;
  const names = identity_policies.reduce((sum, name) => sum + NAME_BYTES + textBytes(name), 0);
  const bytes = acl.bytes + names + (identity ? weighFacts(identity) : 0);
  return atMostOf(ROOMS.permissions, bytes);
}

/** A policy's name, besides its characters. */
const NAME_BYTES = 40;

/** Permissions, or why there are none although there is somebody. */
interface Known {
  permissions: Permissions | undefined;
  excess?: string;
}

/**
 * What a token is permitted at this moment.
 *
 * @param token its own policies, sorted, what bounds them, and the entity it stands for, empty for
 *   none; a restricted one is granted nothing by that entity
 * @returns undefined when its entity is disabled or gone, or no longer whom it logged in as: such a
 *   token stands for nobody
 */
export async function readPermissions(
  app: App,
  token: BoundedToken,
): Promise<Permissions | undefined> {
  const { entity_id, policies, bounds } = token;
  if (entity_id === '' && !bounds) {
    const acl = await readAcl(app, policies, undefined);
    return { acl, identity: undefined, identity_policies: [] };
  }
  const known = await app.cached(
    'identity:permissions',
    async () => new Kept(ROOMS.permissions, weighPermissions, LARGEST_PART),
  );
  // Of one that is kept it is put together once.
  const key = Object.isFrozen(token) ? rememberedKey(token) : permissionsKey(token);
  const load = () => loadPermissions(app, token);
  const found = known.find(key) ?? (await known.get(key, load));
  // A stanza may have run out since.
  const now = Math.floor(app.now() / 1000);
  const isCurrent = !found.permissions || now < found.permissions.acl.valid_until;
  const { permissions, excess } = isCurrent ? found : await load();
  if (excess !== undefined) throw new Failure('forbidden', excess);
  return permissions;
}

/** A policy's name may hold whatever would separate it from the next one. */
const permissionsKey = ({ entity_id, restricted, policies, bounds, alias }: BoundedToken): string =>
  JSON.stringify([entity_id, restricted, policies, bounds, alias]);

const rememberedKey = remembered(permissionsKey);

/** Remembered also when it is refused: whoever has too many policies asks again at once. */
async function loadPermissions(app: App, token: BoundedToken): Promise<Known> {
  const person = token.entity_id === '' ? undefined : await findPerson(app, token.entity_id);
  const isNobody = !person || person.entity.disabled || !standsAs(person, token.alias);
  if (token.entity_id !== '' && isNobody) return { permissions: undefined };
  const acls: Acl[] = [];
  for (const { policies, entity_id } of listPolicySets(
    token,
    person ? requirePolicies(person) : [],
  )) {
    const of = entity_id === token.entity_id ? person : await findPerson(app, entity_id);
    if (of) requirePolicies(of);
    acls.push(await readAcl(app, policies, of?.facts));
    const excess = judgeBoundRules(acls.reduce(boundAcl).size);
    if (excess !== undefined) return { permissions: undefined, excess };
  }
  // What its own policies allow, and no more than those from which it was made.
  const acl = acls.reduce(boundAcl);
  if (!person) return { permissions: { acl, identity: undefined, identity_policies: [] } };
  const identity_policies = token.restricted ? [] : requirePolicies(person);
  return { permissions: { acl, identity: person.facts, identity_policies } };
}

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

/** What aliases are told with: the auth mounts, by their accessors. */
export async function readAliasMounts(app: App): Promise<ReadonlyMap<string, AliasMount>> {
  const auth = [...(await readMounts(app)).values()].filter(({ kind }) => kind === 'auth');
  return new Map(auth.map((one) => [one.accessor, { type: one.type, path: fullPath(one) }]));
}

/** The auth mount that an accessor belongs to. */
export async function findAliasMount(app: App, accessor: string): Promise<AliasMount | undefined> {
  const mount = await findMountByAccessor(app, accessor);
  return mount?.kind === 'auth' ? { type: mount.type, path: fullPath(mount) } : undefined;
}

/**
 * Finds whom an auth mount means by a name, or plans a new entity for it.
 *
 * @returns the entity and its alias, and what to commit together with the log-in. A commit that is
 *   refused with `conflict` may mean that another log-in made it first, or that it was changed
 */
export async function ensureEntityForAlias(
  app: App,
  mount: Pick<Mount, 'accessor'>,
  name: string,
): Promise<{ entity: Entity; alias: Alias; is_new: boolean; effects: Effect[] }> {
  const known = await findAlias(app.db, mount.accessor, name);
  const owner = known && (await findEntityById(app.db, known.entity_id));
  if (owner) {
    const effects = [holdEntity(owner), holdAlias(known)];
    return { entity: owner, alias: known, is_new: false, effects };
  }
  const entity = newEntity(app, { metadata: {}, policies: [], disabled: false });
  const now = app.now();
  const alias: Alias = {
    id: app.newId(),
    entity_id: entity.id,
    mount_accessor: mount.accessor,
    name,
    custom_metadata: {},
    moves: 0,
    created_at_ms: now,
    updated_at_ms: now,
  };
  return { entity, alias, is_new: true, effects: [insertEntity(entity), insertAlias(alias)] };
}

/** Nobody is called so any more: what was logged in by it ends, and whoever gets the name is another. */
export async function planAliasRemoval(app: App, at: AliasesAt): Promise<Effect[]> {
  return [takeAliases(at), ...(await planLogInsEnd(app, aliasIds(at))), deleteAliases(at)];
}

/** Log-ins that one write set ends: others write in between. */
const PAGE = 500;

/**
 * Ends the log-ins of some aliases, with what stands on them, until less than a page is left: the write set
 * that ends the rest with the aliases themselves is not larger for how often somebody has logged in.
 *
 * @param held what refuses each page once it is no longer so
 */
export async function endLogInsBeforehand(
  app: App,
  caller: Caller,
  at: AliasesAt,
  held: readonly Write[] = [],
): Promise<void> {
  const pages = await pagesOf(app, caller);
  const work: EndingPages = {
    ...pages,
    commit: (effects, ended) => pages.commit([...held, ...effects], ended),
  };
  const of = aliasIds(at);
  const page = { but: work.own_token_ids, limit: PAGE };
  for (;;) {
    const token_ids = await listTokensOfAliases(app.db, of, page);
    const ended = { token_ids, ended_by: ENDED };
    if (token_ids.length > 0) await app.endDependants(app, work, ended);
    if (token_ids.length < PAGE) {
      noteEnding(work, 'token_ids', [...token_ids, ...work.own_token_ids]);
      break;
    }
    const others = await app.planDependants(app, ended);
    await work.commit([...deleteTreesByIds(token_ids), ...others], { log_ins: token_ids.length });
    noteEnding(work, 'token_ids', token_ids);
  }
  await loosenBeforehand(app, work, of);
  await app.endDependants(app, work, { alias_ids: of });
}

/** One alias may have any number of leases, by as many log-ins: they let go of it some at a time. */
async function loosenBeforehand(
  app: App,
  work: EndingPages,
  alias_ids: Expression<string>,
): Promise<void> {
  for (;;) {
    const ids = await listLeasesOfAliases(app.db, alias_ids, PAGE);
    noteEnding(work, 'lease_ids', ids);
    if (ids.length < PAGE) return;
    await work.commit([loosenSome(ids)], { leases: ids.length });
  }
}

/** Pages of a request, each with a record of its own that says so. */
export async function pagesOf(app: App, caller: Caller): Promise<EndingPages> {
  return {
    commit: (effects, ended) => commitPage(app, caller, effects, ended),
    own_token_ids: (await listOwnTokens(app, caller)).map(({ id }) => id),
    ending: caller.ending,
  };
}

/**
 * The tokens that a request stands on: the one that it came with, or that a batch token was made by, with
 * those above. Once one of them has ended, whatever else the request writes is refused.
 */
export async function listOwnTokens(
  app: App,
  { standing }: Pick<Caller, 'standing'>,
): Promise<OfLine[]> {
  const id = standing?.token_id;
  return id === undefined ? [] : listLine(app.db, id);
}

/**
 * What ends where an alias becomes another mount's, another name, or somebody else's. It stands before
 * that in the write set: whom the alias names is read there.
 */
export async function planAliasChange(app: App, before: Alias, next: Alias): Promise<Effect[]> {
  if (isSameAlias(before, next)) return [];
  const ids = aliasIds({ id: before.id });
  const ended = await planLogInsEnd(app, ids);
  return [takeAliases({ id: before.id }), ...ended, loosenLeases(ids)];
}

async function planLogInsEnd(app: App, alias_ids: Expression<string>): Promise<Effect[]> {
  return [deleteLogIns(alias_ids), ...(await app.planDependants(app, { alias_ids }))];
}

/** Whether an entity still has the alias by which a log-in came; others need none. */
function standsAs({ facts, alias_moves }: Person, alias: LogInAlias | undefined): boolean {
  if (!alias) return true;
  const known = facts.entity.aliases[alias.mount_accessor];
  if (known?.id !== alias.id || nameKey(known.name) !== alias.name_key) return false;
  return alias_moves.get(alias.id) === (alias.moves ?? 0);
}

/** @param settings.name a random one unless given */
export function newEntity(
  app: Pick<App, 'newId' | 'now' | 'randomBytes'>,
  settings: Pick<Entity, 'metadata' | 'policies' | 'disabled'> & { name?: string },
): Entity {
  const now = app.now();
  return {
    ...settings,
    id: app.newId(),
    name: settings.name || randomName(app, 'entity'),
    version: 1,
    created_at_ms: now,
    updated_at_ms: now,
  };
}

export function randomName(app: Pick<App, 'randomBytes'>, kind: 'entity' | 'group'): string {
  return `${kind}_${Buffer.from(app.randomBytes(6)).toString('hex')}`;
}
