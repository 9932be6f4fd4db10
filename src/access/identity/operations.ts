import type { Expression } from 'kysely';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type EndingPages, noteEnding } from '../../app/ended.ts';
import { fullPath, type Mount } from '../../app/mount.ts';
import { findMountByAccessor, readMounts } from '../../mounts/operations.ts';
import type { Effect, Write } from '../../store/write.ts';
import { commitPage } from '../endings/operations.ts';
import { listLeasesOfAliases, loosenLeases, loosenSome } from '../leases/store.ts';
import { ENDED } from '../tokens/ended.ts';
import { deleteLogIns, deleteTreesByIds, listTokensOfAliases } from '../tokens/ending.store.ts';
import { listLine, type OfLine } from '../tokens/line.store.ts';
import {
  type AliasesAt,
  aliasIds,
  deleteAliases,
  findAlias,
  holdAlias,
  insertAlias,
  takeAliases,
} from './aliases.store.ts';
import { findEntityById, holdEntity, insertEntity } from './entities.store.ts';
import { type Alias, type Entity, isSameAlias } from './entity.ts';
import type { AliasMount, NamedRecord } from './record.ts';

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
  const entity = newEntity(app);
  const named = { mount_accessor: mount.accessor, name, custom_metadata: {} };
  const alias = newAlias(app, { entity_id: entity.id, ...named });
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

/** Detaches leases from some aliases, a page at a time: one alias may have any number, of as many log-ins. */
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

/**
 * Write sets of a request before its last one, each with a record of its own that says so.
 *
 * @param preconditions holds of the request itself, by which each page is refused as well
 */
export async function pagesOf(
  app: App,
  caller: Caller,
  preconditions: readonly Effect[] = [],
): Promise<EndingPages> {
  return {
    commit: (effects, ended) => commitPage(app, caller, [...preconditions, ...effects], ended),
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

type Making = Pick<App, 'newId' | 'now' | 'randomBytes'>;

/** @param name a random one unless given */
export function newRecord<Settings>(
  app: Making,
  kind: 'entity' | 'group',
  settings: Settings,
  name = '',
): Settings & NamedRecord {
  const now = app.now();
  return {
    ...settings,
    id: app.newId(),
    name: name || `${kind}_${Buffer.from(app.randomBytes(6)).toString('hex')}`,
    version: 1,
    created_at_ms: now,
    updated_at_ms: now,
  };
}

export const newEntity = (app: Making, name?: string): Entity =>
  newRecord(app, 'entity', { metadata: {}, policies: [], disabled: false }, name);

export function newAlias(
  app: Making,
  named: Pick<Alias, 'entity_id' | 'mount_accessor' | 'name' | 'custom_metadata'>,
): Alias {
  const now = app.now();
  return { ...named, id: app.newId(), moves: 0, created_at_ms: now, updated_at_ms: now };
}
