import type { Expression } from 'kysely';
import type { App } from '../../../app/app.ts';
import type { Ended, EndingPages } from '../../../app/ended.ts';
import type { Effect } from '../../../store/write.ts';
import { listIdsByToken, listLogInsByToken, usersNamed } from '../../principals/log-ins.store.ts';
import { loosenEntities } from '../../principals/users.store.ts';
import type { PagedLoss } from '../../sessions/paged-termination.store.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../../sessions/termination.operations.ts';
import { endLogInsBeforehand } from './log-ins.operations.ts';
import { endLogIns } from './operations.ts';

/**
 * What the broker keeps of whoever ends on the other API: log-ins with their sessions, and sessions
 * that were authorized by that API's tokens.
 */
export async function planEnded(app: App, ended: Ended): Promise<Effect[]> {
  if ('token_ids' in ended) {
    const sessions = planDependentCancellation(app, ended);
    // A log-in is there as soon as its token is: none comes later.
    const ofLogIns = await listLogInsByToken(app.db, ended.token_ids);
    if (ofLogIns.size === 0) return sessions;
    return [...sessions, ...(await endLogIns(app, { ...ended, token_ids: [...ofLogIns] }))];
  }
  if ('entity_ids' in ended) {
    const { entity_ids } = ended;
    return [
      ...(await endLogIns(app, ended)),
      ...planDependentCancellation(app, { of_entities: entity_ids }),
    ];
  }
  if ('disabled_entity_id' in ended) {
    return planDependentCancellation(app, { of_entities: [ended.disabled_entity_id] });
  }
  if ('alias_ids' in ended) {
    const { alias_ids } = ended;
    // Whoever has the entity by another alias is not the user by it any more, either.
    return [
      ...(await endLogIns(app, ended)),
      ...planDependentCancellation(app, { of_named: alias_ids }),
      ...planDependentCancellation(app, ended),
      loosenEntities(usersNamed(alias_ids)),
    ];
  }
  return planDependentCancellation(app, ended);
}

/** As {@link planEnded}, page by page, until less than a page of each kind is left. */
export async function endBeforehand(app: App, work: EndingPages, ended: Ended): Promise<void> {
  const endSessions = (loss: PagedLoss) => endSessionsBeforehand(app, work, loss);
  const endOthers = (of: { entity_ids: readonly string[] } | { alias_ids: Expression<string> }) =>
    endLogInsBeforehand(app, work, of);
  if ('token_ids' in ended) {
    const { token_ids } = ended;
    await endSessions({ token_ids });
    const log_in_ids = await listIdsByToken(app.db, token_ids);
    if (log_in_ids.length > 0) await endSessions({ log_in_ids });
  } else if ('entity_ids' in ended) {
    await endOthers(ended);
    await endSessions({ of_entities: ended.entity_ids });
  } else if ('alias_ids' in ended) {
    const { alias_ids } = ended;
    await endOthers(ended);
    await endSessions({ of_named: alias_ids });
    await endSessions({ alias_ids });
  } else if ('disabled_entity_id' in ended) {
    await endSessions({ of_entities: [ended.disabled_entity_id] });
  } else {
    await endSessions(ended);
  }
}
