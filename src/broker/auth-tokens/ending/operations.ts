import type { Ended } from '../../../access/ended.ts';
import type { App } from '../../../app.ts';
import type { Effect } from '../../../store/write.ts';
import { planLoss } from '../../sessions/ending/operations.ts';
import { loosenEntities } from '../../users/store.ts';
import { endLogIns } from '../operations.ts';
import { listLogInsByToken, usersNamed } from '../store.ts';

/**
 * What the broker keeps of whoever ends on the other API: log-ins with their sessions, and sessions
 * that were authorized by that API's tokens.
 */
export async function planEnded(app: App, ended: Ended): Promise<Effect[]> {
  if ('token_ids' in ended) {
    const sessions = planLoss(app, ended);
    // A log-in is there as soon as its token is: none comes later.
    const of_log_ins = await listLogInsByToken(app.db, ended.token_ids);
    if (of_log_ins.size === 0) return sessions;
    return [...sessions, ...(await endLogIns(app, { ...ended, token_ids: [...of_log_ins] }))];
  }
  if ('entity_id' in ended) {
    return [...(await endLogIns(app, ended)), ...planLoss(app, { of_entity: ended.entity_id })];
  }
  if ('disabled_entity_id' in ended) return planLoss(app, { of_entity: ended.disabled_entity_id });
  if ('alias_ids' in ended) {
    const { alias_ids } = ended;
    // Whoever has the entity by another alias is not the user by it any more, either.
    return [
      ...(await endLogIns(app, ended)),
      ...planLoss(app, { of_named: alias_ids }),
      ...planLoss(app, ended),
      loosenEntities(usersNamed(alias_ids)),
    ];
  }
  return planLoss(app, ended);
}
