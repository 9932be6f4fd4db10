import { listOwnTokens, pagesOf } from '../../access/identity/operations.ts';
import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import type { EndedCounts } from '../../core/ended-counts.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import type { AuthTokenBody } from '../principals/auth-token.ts';
import { type LogInsOf, listIdsByToken } from '../principals/log-ins.store.ts';
import { listResourcesById } from '../resource/by-ids.store.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { PAGE } from '../resource/ending.ts';
import type { LinkKind } from '../resource/links/store.ts';
import { PERMITTING } from '../resource/permitting.ts';
import { removeResources, takeResources } from '../resource/removals.store.ts';
import type { Resource } from '../resource/resource.ts';
import { readScopeTree } from '../resource/scope-tree/operations.ts';
import { type Changed, noteScopes } from '../resource/scope-tree/store.ts';
import { listSubtree } from '../resource/scope-tree/tree.ts';
import type { ResourceTypeName } from '../resource/types.ts';
import {
  endSourcesBeforehand,
  planSourceRemoval,
} from '../sessions/credentials/termination.operations.ts';
import type { PagedLoss } from '../sessions/paged-termination.store.ts';
import { cancelPage, endSessionsBeforehand, planLoss } from '../sessions/termination.operations.ts';
import { endLogInsBeforehand } from './auth-tokens/log-ins.operations.ts';
import { endLogIns, revokeTokensIn } from './auth-tokens/operations.ts';
import {
  type Left,
  type LinkEnd,
  listContainedIds,
  listInScopes,
  listLinksInScopes,
  listLinksOfSome,
  listProjects,
  unlink,
  unlinkAt,
} from './removal.store.ts';

// A removal ends all that stands on what it removes in its own write set, by statements that find
// it there. However much that is, the set stays small: whatever is more than a page is ended before,
// page by page, each with a record of its own. Others write in between.

/** The log-ins that a request stands on: whose token it came with, or one that was made from theirs. */
async function listOwnLogIns(app: App, caller: BrokerCaller): Promise<Resource[]> {
  const tokens = await listOwnTokens(app, caller);
  const ids = await listIdsByToken(
    app.db,
    tokens.map(({ id }) => id),
  );
  return listResourcesById(app.db, ids);
}

/** What ends with what is removed, for the page that removes it, and how many of what kind. */
interface Ends {
  effects: readonly Effect[];
  ended: EndedCounts;
}

type EndsOf = (ids: readonly string[]) => Promise<Ends>;

interface Removing {
  type: ResourceTypeName;
  list(limit: number): Promise<string[]>;
}

async function removeBeforehand(
  app: App,
  work: EndingPages,
  { type, list }: Removing,
): Promise<void> {
  const permits = PERMITTING.includes(type);
  for (;;) {
    const ids = await list(PAGE);
    if (ids.length === 0) return;
    const { effects, ended } = await endsOf(app, work, type)(ids);
    await unlinkThoseAt(app, work, 'to_id', { ids });
    await unlinkThoseAt(app, work, 'from_id', { ids });
    if (ids.length < PAGE) return;
    const removal = removeResources({ ids }, app.now());
    const judged = permits ? bumpPermissionVersion() : [];
    await work.commit([...effects, ...removal, ...judged], ended);
  }
}

/** What permits whoever removes: that is left to the end. */
async function findOwn(app: App, caller: BrokerCaller): Promise<Left> {
  const { user_id } = caller.who;
  const grounds = (await listOwnLogIns(app, caller)).flatMap(({ owner_id, body }) => {
    // Managed groups that the account was in when it logged in.
    const { account_id, auth_method_id, principals } = body as AuthTokenBody;
    return [owner_id, account_id, auth_method_id, ...principals];
  });
  return { ids: [user_id, ...grounds], member_id: user_id };
}

/** What ends with pages of what is removed, in the same write set; more than a page of it ends before. */
function endsOf(app: App, work: EndingPages, type: ResourceTypeName): EndsOf {
  switch (type) {
    case 'host':
      return async (host_ids) => {
        const loss = { host_ids, with_sets: true } as const;
        const sessions = await endSessionsBeforehand(app, work, loss);
        return ending(planLoss(app, loss), host_ids, { sessions });
      };
    case 'host-set':
      return async (of_host_sets) => {
        const sessions = await endSessionsBeforehand(app, work, { of_host_sets });
        return ending(planLoss(app, { of_host_sets }), of_host_sets, { sessions });
      };
    case 'credential':
    case 'credential-library':
      return async (ids) => {
        await endSourcesBeforehand(app, work, ids);
        return ending(planSourceRemoval(app, { ids }), ids);
      };
    case 'account':
      return async (account_ids) => {
        const left = await endLogInsBeforehand(app, work, { account_ids });
        return ending(await endLogIns(app, { account_ids }), account_ids, left);
      };
    case 'user':
      return async (user_ids) => {
        const { log_ins = 0 } = await endLogInsBeforehand(app, work, { user_ids });
        // All that are theirs, also those by the log-ins that are left.
        const sessions = await endSessionsBeforehand(app, work, { user_ids });
        const effects = [...(await endLogIns(app, { user_ids })), ...planLoss(app, { user_ids })];
        return ending(effects, user_ids, { log_ins, sessions });
      };
    case 'session':
      return async (ids) => ({
        effects: cancelPage(app, { target_id: '' }, ids),
        ended: { sessions: ids.length },
      });
    default:
      return async (ids) => ending([], ids);
  }
}

const ending = (
  effects: readonly Effect[],
  removed: readonly string[],
  ended: EndedCounts = {},
): Ends => ({ effects, ended: { ...ended, resources: removed.length } });

/** Ends what a removal would end, but for a page of each kind. */
export async function endBeforehand(app: App, caller: BrokerCaller, gone: Resource): Promise<void> {
  const work = await pagesOf(app, caller);
  const { id } = gone;
  const sessions = async (loss: PagedLoss): Promise<void> => {
    await endSessionsBeforehand(app, work, loss);
  };
  const logIns = async (of: LogInsOf): Promise<void> => {
    await endLogInsBeforehand(app, work, of);
  };
  const contained = async (...types: ResourceTypeName[]): Promise<void> => {
    const but = await findOwn(app, caller);
    for (const type of types) {
      const list = (limit: number) => listContainedIds(app.db, id, { type, but, limit });
      await removeBeforehand(app, work, { type, list });
    }
  };
  switch (gone.type) {
    case 'target':
      return sessions({ target_id: id });
    case 'host':
      return sessions({ host_ids: [id] });
    case 'host-set':
      await sessions({ of_host_sets: [id] });
      await unlinkThoseAt(app, work, 'to_id', { ids: [id] });
      return unlinkThoseAt(app, work, 'from_id', { ids: [id] });
    case 'group':
    case 'role':
      // Without those by whom whoever removes it is permitted to.
      return unlinkThoseAt(app, work, 'from_id', { ids: [id], but: await findOwn(app, caller) });
    case 'account':
      return logIns({ account_ids: [id] });
    case 'user':
      await logIns({ user_ids: [id] });
      return sessions({ user_ids: [id] });
    case 'credential':
    case 'credential-library':
      await endSourcesBeforehand(app, work, [id]);
      return unlinkThoseAt(app, work, 'to_id', { ids: [id] });
    case 'credential-store':
      return contained('credential', 'credential-library');
    case 'host-catalog':
      return contained('host', 'host-set');
    case 'auth-method':
      await contained('account', 'managed-group');
      // What is left is their own account's, and that may have many.
      return logIns({ auth_method_id: id });
    case 'scope': {
      const but = await findOwn(app, caller);
      await endProjectsBeforehand(app, work, { org_id: id, but });
      const scope_ids = listSubtree(await readScopeTree(app), id);
      return endScopesBeforehand(app, work, { scope_ids, but });
    }
    default:
  }
}

/**
 * Of these a scope may hold many, and whoever removes it is permitted by none of them but their own:
 * what a role in it grants is inside of it. What contains others comes after them.
 */
const MANY_IN_SCOPES: readonly ResourceTypeName[] = [
  'target',
  'host',
  'host-set',
  'host-catalog',
  'credential',
  'credential-library',
  'credential-store',
  'alias',
  'role',
  'group',
  'managed-group',
  'account',
  'user',
  'auth-method',
];

/** A few of these may lead to a hundred thousand others. */
const LINKING: readonly [type: ResourceTypeName, kind: LinkKind][] = [
  ['role', 'role-principal'],
  ['group', 'group-member'],
];

/** A link is less than what else ends: as many go in one write set as one request names. */
const LINKS = 2_000;

async function unlinkBeforehand(
  work: EndingPages,
  kind: LinkKind,
  list: () => Promise<{ from_id: string; to_id: string }[]>,
): Promise<void> {
  for (;;) {
    const links = await list();
    if (links.length < LINKS) return;
    const ended = { links: links.length };
    await work.commit([...unlink(kind, links), ...bumpPermissionVersion()], ended);
  }
}

/** What a thousand groups, or any number of targets, lead to may be one of these, or what leads to as many. */
async function unlinkThoseAt(
  app: App,
  work: EndingPages,
  end: LinkEnd,
  { ids, but }: { ids: readonly string[]; but?: Left },
): Promise<void> {
  const page = { limit: LINKS, ...(but && { but }) };
  for (;;) {
    const links = await listLinksOfSome(app.db, end, ids, page);
    if (links.length < LINKS) return;
    const ended = { links: links.length };
    await work.commit([...unlinkAt(end, links), ...bumpPermissionVersion()], ended);
  }
}

async function endScopesBeforehand(
  app: App,
  work: EndingPages,
  { scope_ids, but }: { scope_ids: readonly string[]; but: Left },
): Promise<void> {
  const inside = (type: ResourceTypeName): Promise<void> =>
    removeBeforehand(app, work, {
      type,
      list: (limit) => listInScopes(app.db, scope_ids, { type, but, limit }),
    });
  await inside('session');
  await endLogInsBeforehand(app, work, { scope_ids });
  // Their own user is left to the end, and sessions in other scopes are that user's by log-ins of before.
  const [own] = await listResourcesById(app.db, [but.member_id]);
  if (own && scope_ids.includes(own.scope_id))
    await endSessionsBeforehand(app, work, { user_ids: [own.id] });
  for (const [type, kind] of LINKING) {
    const list = () => listLinksInScopes(app.db, scope_ids, { type, kind, but, limit: LINKS });
    await unlinkBeforehand(work, kind, list);
  }
  for (const type of MANY_IN_SCOPES) await inside(type);
}

/** Projects that are removed in one write set, each with its roles and what else it has less than a page of. */
const PROJECTS = 100;

/** Removes projects of an org until few are left, and those by which whoever removes is permitted to. */
async function endProjectsBeforehand(
  app: App,
  work: EndingPages,
  { org_id, but }: { org_id: string; but: Left },
): Promise<void> {
  for (;;) {
    const ids = await listProjects(app.db, org_id, { but, limit: PROJECTS });
    if (ids.length < PROJECTS) return;
    await endScopesBeforehand(app, work, { scope_ids: ids, but });
    const ended = { resources: ids.length };
    await work.commit([...planScopeRemoval(app, { ids }), ...bumpPermissionVersion()], ended);
  }
}

/** Removes scopes, or one with those in it, also those that are made at the last moment, with all that lies in them. */
export function planScopeRemoval(app: App, gone: Changed): Effect[] {
  const scope_ids = 'ids' in gone ? gone.ids : [gone.within];
  return [
    ...takeResources({ scope_ids }),
    ...noteScopes(gone),
    ...planLoss(app, { scope_ids }),
    revokeTokensIn(scope_ids),
    ...removeResources({ scope_ids }, app.now()),
  ];
}
