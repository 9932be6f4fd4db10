import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import type { EndedCounts } from '../../core/ended-counts.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { PAGE } from '../resource/ending.ts';
import { PERMITTING } from '../resource/permitting.ts';
import { removeResources } from '../resource/removals.store.ts';
import type { ResourceTypeName } from '../resource/types.ts';
import {
  endSourcesBeforehand,
  planSourceRemoval,
} from '../sessions/credentials/termination.operations.ts';
import {
  cancelPage,
  endSessionsBeforehand,
  planDependentCancellation,
} from '../sessions/termination.operations.ts';
import { endLogInsBeforehand } from './auth-tokens/log-ins.operations.ts';
import { endLogIns } from './auth-tokens/operations.ts';
import { unlinkThoseAt } from './link-removal.operations.ts';

/** What ends with a page of what is removed, and how many of each kind. */
interface Ends {
  effects: readonly Effect[];
  ended: EndedCounts;
}

type EndsOf = (ids: readonly string[]) => Promise<Ends>;

interface Removing {
  type: ResourceTypeName;
  list(limit: number): Promise<string[]>;
}

export async function removeBeforehand(
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

/** Plans what ends in the write set that removes a page; of what that is, all but a page is ended before. */
function endsOf(app: App, work: EndingPages, type: ResourceTypeName): EndsOf {
  switch (type) {
    case 'host':
      return async (host_ids) => {
        const loss = { host_ids, with_sets: true } as const;
        const sessions = await endSessionsBeforehand(app, work, loss);
        return ending(planDependentCancellation(app, loss), host_ids, { sessions });
      };
    case 'host-set':
      return async (of_host_sets) => {
        const sessions = await endSessionsBeforehand(app, work, { of_host_sets });
        return ending(planDependentCancellation(app, { of_host_sets }), of_host_sets, { sessions });
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
        // All sessions of these users, also those of log-ins that are left.
        const sessions = await endSessionsBeforehand(app, work, { user_ids });
        const effects = [
          ...(await endLogIns(app, { user_ids })),
          ...planDependentCancellation(app, { user_ids }),
        ];
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
