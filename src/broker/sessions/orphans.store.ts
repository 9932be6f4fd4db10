import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import type { Db } from '../../store/database.ts';
import { LIVE_STATUSES } from './session.ts';

/** Where a page of the sessions that go on ended. */
export interface LiveCursor {
  status: string;
  id: string;
}

/** Sessions that go on, a page of them: those of one status after the other, by their ids. */
export async function listLive(
  db: Db,
  after: LiveCursor | undefined,
  limit: number,
): Promise<LiveCursor[]> {
  const found: LiveCursor[] = [];
  for (const status of [...LIVE_STATUSES].sort()) {
    if (after && status < after.status) continue;
    const rows = await db
      .selectFrom('session')
      .select(['status', 'id'])
      .where('status', '=', status)
      .where('id', '>', status === after?.status ? after.id : '')
      .orderBy('id')
      .limit(limit - found.length)
      .execute();
    found.push(...rows);
    if (found.length === limit) break;
  }
  return found;
}

/** Which of some sessions stand on something that is not there. */
export async function listOrphans(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('session')
    .leftJoin('resource as target', 'target.id', 'session.target_id')
    .leftJoin('resource as log_in', 'log_in.id', 'session.auth_token_id')
    .leftJoin('token', 'token.id', 'session.token_id')
    .leftJoin('identity_alias as alias', 'alias.id', 'session.alias_id')
    .leftJoin('resource as host_set', 'host_set.id', 'session.host_set_id')
    .leftJoin('resource as host', 'host.id', 'session.host_id')
    .leftJoin('resource as own', 'own.id', 'session.id')
    .leftJoin('resource as owner', 'owner.id', 'own.owner_id')
    .select('session.id')
    .where('session.id', 'in', ids)
    .where(aside('session.status'), 'in', LIVE_STATUSES)
    .where((row) =>
      row.or([
        row('target.id', 'is', null),
        row.and([row('session.auth_token_id', '<>', ''), row('log_in.id', 'is', null)]),
        row.and([row('session.token_id', '<>', sql.lit('')), row('token.id', 'is', null)]),
        row.and([row('session.alias_id', '<>', sql.lit('')), row('alias.id', 'is', null)]),
        row.and([row('session.host_set_id', '<>', ''), row('host_set.id', 'is', null)]),
        row.and([row('session.host_id', '<>', ''), row('host.id', 'is', null)]),
        row('owner.id', 'is', null),
      ]),
    )
    .execute();
  return rows.map((row) => row.id);
}
