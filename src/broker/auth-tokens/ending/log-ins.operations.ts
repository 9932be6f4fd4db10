import type { EndingPages } from '../../../access/ended.ts';
import { noteEnding } from '../../../access/ended.ts';
import type { App } from '../../../app.ts';
import type { EndedCounts } from '../../../core/ended-counts.ts';
import { PAGE } from '../../removal/page.ts';
import { listAmong, listLogInsOf } from '../../removal/store.ts';
import { endSessionsBeforehand } from '../../sessions/ending/operations.ts';
import { endLogIns, noteTokens } from '../operations.ts';
import type { LogInsIn, LogInsOf } from '../store.ts';
import { listIdsByToken, listTokensOf } from '../store.ts';

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
