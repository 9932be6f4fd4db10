import type { App } from '../../app.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { endLogIns } from '../auth-tokens/operations.ts';
import type { LogInsOf } from '../auth-tokens/store.ts';
import type { BrokerCaller } from '../caller.ts';
import type { Resource } from '../resource.ts';
import type { ResourceTypeName } from '../resource-types.ts';
import { removeResources } from '../resources/store.ts';
import { endSourcesBeforehand, planSourceRemoval } from '../session-credentials/operations.ts';
import { cancelPage, endSessionsBeforehand } from '../sessions/ending/operations.ts';
import type { PagedLoss } from '../sessions/ending/store.ts';
import { readScopeTree } from '../tree/operations.ts';
import { listSubtree } from '../tree/tree.ts';
import { type EndingWork, PAGE } from './page.ts';
import { listContainedIds, listInScopes, listLogInsOf } from './store.ts';

// A removal ends all that stands on what it removes in its own write set, by statements that find
// it there. However much that is, the set stays small: whatever is more than a page is ended before,
// page by page, each with a record of its own. Others write in between.

/**
 * Work of a request, which goes on to remove something.
 *
 * @param grounds what refuses the request refuses each page of it
 */
export function workOf(
  app: App,
  caller: BrokerCaller,
  grounds: readonly Effect[] = [],
): EndingWork {
  const { auth_token_id, account_id } = caller.who;
  return {
    commit: (effects) => {
      const { record } = caller;
      const outcome = { ...record.outcome, ending: true };
      return app.commit({ ...caller, record: { ...record, outcome } }, [...grounds, ...effects]);
    },
    own: { log_in_id: auth_token_id, account_id },
  };
}

/** Ends log-ins with their sessions until less than a page of them is left. */
export async function endLogInsBeforehand(app: App, work: EndingWork, of: LogInsOf): Promise<void> {
  const page = { but: work.own.log_in_id, limit: PAGE };
  for (;;) {
    const ids = await listLogInsOf(app.db, of, page);
    if (ids.length === 0) return;
    await endSessionsBeforehand(app, work, { log_in_ids: ids });
    if (ids.length < PAGE) return;
    await work.commit(await endLogIns(app, { ids }));
  }
}

/** What ends with what is removed, for the page that removes it. */
type EndsOf = (ids: readonly string[]) => Promise<readonly Effect[]>;

interface Removing {
  list(limit: number): Promise<string[]>;
  endsOf: EndsOf;
  /** Whether anybody is permitted anything by it. */
  permits: boolean;
}

async function removeBeforehand(
  app: App,
  work: EndingWork,
  { list, endsOf, permits }: Removing,
): Promise<void> {
  for (;;) {
    const ids = await list(PAGE);
    if (ids.length === 0) return;
    const ends = await endsOf(ids);
    if (ids.length < PAGE) return;
    const removal = removeResources({ ids }, app.now());
    await work.commit([...ends, ...removal, ...(permits ? bumpPermissionVersion() : [])]);
  }
}

/** Ends what a removal would end, but for a page of each kind. */
export async function endBeforehand(app: App, caller: BrokerCaller, gone: Resource): Promise<void> {
  const work = workOf(app, caller);
  const { id } = gone;
  const sessions = (loss: PagedLoss): Promise<void> => endSessionsBeforehand(app, work, loss);
  const contained = (type: ResourceTypeName, endsOf: EndsOf): Promise<void> =>
    removeBeforehand(app, work, {
      list: (limit) => listContainedIds(app.db, id, { type, but: work.own.account_id, limit }),
      endsOf,
      permits: type === 'account',
    });
  const source = async (ids: readonly string[]): Promise<readonly Effect[]> => {
    await endSourcesBeforehand(app, work, ids);
    return planSourceRemoval(app, { ids });
  };
  switch (gone.type) {
    case 'target':
      return sessions({ target_id: id });
    case 'host':
      return sessions({ host_ids: [id] });
    case 'host-set':
      return sessions({ host_set_id: id });
    case 'auth-token':
      return sessions({ log_in_ids: [id] });
    case 'account':
      return endLogInsBeforehand(app, work, { account_ids: [id] });
    case 'user':
      await endLogInsBeforehand(app, work, { user_id: id });
      return sessions({ user_id: id });
    case 'credential':
    case 'credential-library':
      await source([id]);
      return;
    case 'credential-store':
      await contained('credential', source);
      return contained('credential-library', source);
    case 'host-catalog':
      return contained('host', async (host_ids) => {
        await sessions({ host_ids, with_sets: true });
        return [];
      });
    case 'auth-method':
      return contained('account', async (account_ids) => {
        await endLogInsBeforehand(app, work, { account_ids });
        return endLogIns(app, { account_ids });
      });
    case 'scope':
      return endScopesBeforehand(app, work, listSubtree(await readScopeTree(app), id));
    default:
  }
}

/** Of these a scope may hold many, and whoever removes it is permitted by none of them but their own. */
const MANY_IN_SCOPES: readonly ResourceTypeName[] = [
  'target',
  'host',
  'host-set',
  'credential',
  'credential-library',
  'account',
  'alias',
];

async function endScopesBeforehand(
  app: App,
  work: EndingWork,
  scope_ids: readonly string[],
): Promise<void> {
  const inside = (type: ResourceTypeName, endsOf: EndsOf): Promise<void> =>
    removeBeforehand(app, work, {
      list: (limit) => listInScopes(app.db, scope_ids, { type, but: work.own.account_id, limit }),
      endsOf,
      permits: type !== 'session',
    });
  await inside('session', async (ids) => cancelPage(app, { target_id: '' }, ids));
  await endLogInsBeforehand(app, work, { scope_ids });
  for (const type of MANY_IN_SCOPES) {
    await inside(type, async (ids) =>
      type === 'account' ? endLogIns(app, { account_ids: ids }) : [],
    );
  }
}
