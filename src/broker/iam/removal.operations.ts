import { listOwnTokens, pagesOf } from '../../access/identity/operations.ts';
import type { App } from '../../app/app.ts';
import type { AuthTokenBody } from '../principals/auth-token.ts';
import { type LogInsOf, listIdsByToken } from '../principals/log-ins.store.ts';
import { listResourcesById } from '../resource/by-ids.store.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { isOf } from '../resource/handler.ts';
import type { Resource } from '../resource/resource.ts';
import { readScopeTree } from '../resource/scope-tree/operations.ts';
import { listSubtree } from '../resource/scope-tree/tree.ts';
import type { ResourceTypeName } from '../resource/types.ts';
import { endSourcesBeforehand } from '../sessions/credentials/termination.operations.ts';
import type { PagedLoss } from '../sessions/paged-termination.store.ts';
import { endSessionsBeforehand } from '../sessions/termination.operations.ts';
import { endLogInsBeforehand } from './auth-tokens/log-ins.operations.ts';
import { authTokenDefinition } from './auth-tokens/operations.ts';
import { unlinkThoseAt } from './link-removal.operations.ts';
import { removeBeforehand } from './paged-removal.operations.ts';
import { type Left, listContainedIds } from './removal.store.ts';
import { endProjectsBeforehand, endScopesBeforehand } from './scope-removal.operations.ts';

// A removal ends everything that depends on what it removes in its own write set, by statements that find
// it there. The set stays small however much that is: all but a page is ended before, page by page, each
// with a record of its own. Others write in between.

/** The log-ins that a request stands on: whose token it came with, or one that was made from theirs. */
async function listOwnLogIns(app: App, caller: BrokerCaller): Promise<Resource<AuthTokenBody>[]> {
  const tokens = await listOwnTokens(app, caller);
  const ids = await listIdsByToken(
    app.db,
    tokens.map(({ id }) => id),
  );
  const found = await listResourcesById(app.db, ids);
  return found.filter((one) => isOf(authTokenDefinition, one));
}

/** What the remover's own permission rests on: it is removed last. */
async function findOwn(app: App, caller: BrokerCaller): Promise<Left> {
  const { user_id } = caller.who;
  const permitting = (await listOwnLogIns(app, caller)).flatMap(({ owner_id, body }) => {
    // Managed groups that the account was in when it logged in.
    const { account_id, auth_method_id, principals } = body;
    return [owner_id, account_id, auth_method_id, ...principals];
  });
  return { ids: [user_id, ...permitting], member_id: user_id };
}

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
