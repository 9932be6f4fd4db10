import type { App } from '../../../app/app.ts';
import { type EndingPages, noteEnding } from '../../../app/ended.ts';
import type { EndedCounts } from '../../../core/ended-counts.ts';
import {
  type LogInsIn,
  type LogInsOf,
  listIdsByToken,
  listTokensOf,
} from '../../principals/log-ins.store.ts';
import { PAGE } from '../../resource/ending.ts';
import { endSessionsBeforehand } from '../../sessions/termination.operations.ts';
import { listAmong, listLogInsOf } from '../removal.store.ts';
import { endLogIns, noteTokens } from './operations.ts';

/**
 * Ends log-ins with their sessions until less than a page of them is left. Those of whoever ends are left,
 * and their sessions are not: nothing is permitted by these.
 *
 * @returns how many are left
 */
export async function endLogInsBeforehand(
  app: App,
  work: EndingPages,
  of: LogInsOf | LogInsIn,
): Promise<EndedCounts> {
  const own_ids = await listIdsByToken(app.db, work.own_token_ids);
  const own = await listAmong(app.db, of, own_ids);
  if (own.length > 0) {
    await endSessionsBeforehand(app, work, { log_in_ids: own });
    await noteTokens(app, work, own);
  }
  const page = { but: own_ids, limit: PAGE };
  for (;;) {
    const ids = await listLogInsOf(app.db, of, page);
    if (ids.length === 0) return {};
    const sessions = await endSessionsBeforehand(app, work, { log_in_ids: ids });
    const left = { log_ins: ids.length, sessions };
    if (ids.length < PAGE) {
      await noteTokens(app, work, ids);
      return left;
    }
    const tokens = work.ending ? await listTokensOf(app.db, ids) : [];
    await work.commit(await endLogIns(app, { ids }), left);
    noteEnding(work, 'token_ids', tokens);
  }
}
