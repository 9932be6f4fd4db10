import { type Expression, sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import { namedIn } from '../../store/named-in.ts';
import type { SessionRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import {
  type LogInsOf,
  logInsOf,
  type TokensEnded,
  tokensEnded,
  usersNamed,
  usersOf,
} from '../principals/log-ins.store.ts';
import { SESSION_LEASES } from '../vault/leases/lease.ts';
import { ENDING_STATUSES, LIVE_STATUSES } from './session.ts';
import { laterThanBefore } from './store.ts';

/** What is removed, so that sessions which depend on it are canceled. */
export type Loss =
  | { target_id: string }
  | { log_ins: LogInsOf }
  | { session_ids: readonly string[] }
  /** Those of some sessions that have ended. */
  | { ended_among: readonly string[] }
  | { user_ids: readonly string[] }
  /** Tokens of the authority's API that sessions were authorized by: by their rows, … */
  | TokensEnded
  /** … by what their log-ins were called, … */
  | { alias_ids: Expression<string> }
  /** … or by where they came in. */
  | { auth_mount: { id: string } }
  /** Whoever the user is ends, or may not do anything; the user stays. */
  | { of_entities: readonly string[] }
  /** Whoever some aliases name is so no longer; the users stay. */
  | { of_named: Expression<string> }
  /** Whole scopes, with the users and log-ins that lie in them. */
  | { scope_ids: readonly string[] }
  /** `with_sets`: their sets go, too. */
  | { host_ids: readonly string[]; with_sets?: true }
  | { of_host_sets: readonly string[] }
  /** Everything of a catalog. */
  | { host_catalog_id: string }
  /** A target goes on without its address, or without some host sets. */
  | { address_of: string }
  | { target_id_of: string; host_set_ids: readonly string[] }
  /** A host set goes on without some hosts. */
  | { host_set_id_of: string; host_ids: readonly string[] };

/** Said as it stands, or the index of those sessions alone is passed over, and all others looked at. */
const isThroughHost = sql<boolean>`session.host_id <> ''`;
/** As indexes of sessions that go on have it; said by what they are, SQLite would begin with all of a status. */
const goesOn = sql<boolean>`session.status not in (${sql.join(ENDING_STATUSES.map((one) => sql.lit(one)))})`;

function affected(loss: Loss) {
  const from = build.selectFrom('session').select('session.id');
  const rows = build.selectFrom('resource').select('resource.id').where('type', '=', 'session');
  const contained = (type: 'host', catalog_id: string) =>
    build
      .selectFrom('resource')
      .select('resource.id')
      .where('container_id', '=', catalog_id)
      .where('type', '=', type);
  if ('address_of' in loss) {
    return direct(from, loss.address_of);
  }
  if ('target_id_of' in loss) {
    return from
      .where('target_id', '=', loss.target_id_of)
      .where('host_set_id', 'in', loss.host_set_ids)
      .where(aside('target_id'), '=', loss.target_id_of);
  }
  if ('host_set_id_of' in loss) {
    if (loss.host_ids.length > HOSTS_AT_ONCE) return throughSome(from, loss);
    return from
      .where(isThroughHost)
      .where('host_id', 'in', loss.host_ids)
      .where('host_set_id', '=', loss.host_set_id_of)
      .where(aside('host_set_id'), '=', loss.host_set_id_of);
  }
  if ('target_id' in loss) return from.where('target_id', '=', loss.target_id);
  if ('session_ids' in loss) return from.where('id', 'in', loss.session_ids);
  if ('ended_among' in loss) {
    return from.where('id', 'in', loss.ended_among).where(aside('status'), '=', 'terminated');
  }
  if ('log_ins' in loss) return from.where('auth_token_id', 'in', logInsOf(loss.log_ins));
  if ('host_ids' in loss) return from.where(isThroughHost).where('host_id', 'in', loss.host_ids);
  if ('of_host_sets' in loss) {
    return throughSets(from, loss.of_host_sets);
  }
  if ('host_catalog_id' in loss) {
    return from
      .where(isThroughHost)
      .where('host_id', 'in', contained('host', loss.host_catalog_id));
  }
  if ('token_ids' in loss)
    return from
      .where(goesOn)
      .where('session.token_id', '<>', sql.lit(''))
      .where('session.token_id', 'in', tokensEnded(loss))
      .where(aside('session.token_id'), 'in', loss.token_ids);
  if ('alias_ids' in loss) return byAliases(loss.alias_ids);
  if ('auth_mount' in loss) return byMount(from, loss.auth_mount);
  if ('of_entities' in loss || 'of_named' in loss) {
    return byPerson(from, loss);
  }
  if ('user_ids' in loss) {
    return from.where('session.id', 'in', rows.where('owner_id', 'in', loss.user_ids));
  }
  const { scope_ids } = loss;
  // Each by an index: PostgreSQL would ask of every session whether one of the three is so.
  const lost = rows
    .where('scope_id', 'in', scope_ids)
    .unionAll(rows.where('scope_id', 'in', inScopes(scope_ids, 'scope')))
    .unionAll(rows.where('owner_id', 'in', inScopes(scope_ids, 'user')))
    .unionAll(from.where('session.auth_token_id', 'in', inScopes(scope_ids, 'auth-token')));
  return from.where('session.id', 'in', lost);
}

const inScopes = (scope_ids: readonly string[], type: 'scope' | 'user' | 'auth-token') =>
  build
    .selectFrom('resource as gone')
    .select('gone.id')
    .where('gone.scope_id', 'in', scope_ids)
    .where('gone.type', '=', type);

/** Sessions that log-ins of the authority's API authorized: their tokens, or where those have no row, they. */
function byAliases(alias_ids: Expression<string>) {
  const tokens = build
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', sql.lit(''))
    .where('token.alias_id', 'in', alias_ids);
  const sessions = selectSessions(build).where(goesOn);
  const byToken = sessions
    .where('session.token_id', '<>', sql.lit(''))
    .where('session.token_id', 'in', tokens);
  const byAlias = sessions
    .where('session.alias_id', '<>', sql.lit(''))
    .where('session.alias_id', 'in', alias_ids)
    .where(aside('session.alias_id'), 'in', alias_ids);
  return byToken.unionAll(byAlias);
}

type Sessions = ReturnType<typeof selectSessions>;
const selectSessions = (from: Pick<Db, 'selectFrom'>) =>
  from.selectFrom('session').select('session.id');

// Of what goes on and is somebody's, PostgreSQL expects as many as if the one had nothing to do with the other,
// and would go through half of a table for three of them: what is said once more, aside, it takes to be rare.

const byMount = (sessions: Sessions, { id }: { id: string }) =>
  sessions
    .where(goesOn)
    .where('session.auth_mount_id', '<>', sql.lit(''))
    .where('session.auth_mount_id', '=', id)
    .where(aside('session.auth_mount_id'), '=', id);

/** Of the users that some entities are, or that some aliases name. */
function byPerson(
  sessions: Sessions,
  loss: { of_entities: readonly string[] } | { of_named: Expression<string> },
): Sessions {
  const persons = (): Expression<string> =>
    'of_named' in loss ? usersNamed(loss.of_named) : sql<string>`${usersOf(loss.of_entities)}`;
  return sessions
    .where(goesOn)
    .where('session.user_id', '<>', sql.lit(''))
    .where('session.user_id', 'in', persons())
    .where(aside('session.user_id'), 'in', persons());
}

const throughSets = (sessions: Sessions, host_set_ids: readonly string[]) =>
  sessions
    .where('session.host_set_id', '<>', sql.lit(''))
    .where('session.host_set_id', 'in', host_set_ids)
    .where(aside('session.host_set_id'), 'in', host_set_ids);

/** Of a set's sessions that go on, those through some thousand hosts: fewer than the hosts are. */
const throughSome = (
  sessions: Sessions,
  { host_set_id_of, host_ids }: { host_set_id_of: string; host_ids: readonly string[] },
) =>
  sessions
    .where('session.host_set_id', '<>', sql.lit(''))
    .where('session.host_set_id', '=', host_set_id_of)
    .where(aside('session.host_set_id'), '=', host_set_id_of)
    .where(sql<boolean>`(session.host_id in ${namedIn(host_ids)}) is true`);

const direct = (sessions: Sessions, target_id: string) =>
  sessions
    .where('target_id', '=', target_id)
    .where('host_set_id', '=', '')
    .where('host_id', '=', '')
    .where(aside('target_id'), '=', target_id);

/** Of what goes on, sessions that have ended are left as they are. */
const dependents = (loss: Loss) =>
  'address_of' in loss || 'target_id_of' in loss || 'host_set_id_of' in loss
    ? affected(loss).where('status', 'in', LIVE_STATUSES)
    : affected(loss);

/**
 * What ends the credentials of the sessions of a loss, also of those that were authorized since it
 * was decided: their leases are due, and what was kept for a worker goes.
 *
 * @param now Unix seconds
 */
export function endCredentialsOf(loss: Loss, now: number): Write[] {
  const beneath = (end: '/' | '0') => sql<string>`${`${SESSION_LEASES}/`} || session.id || ${end}`;
  const leases = build
    .selectFrom('session')
    .innerJoin('lease', (join) =>
      join.on('lease.id', '>=', beneath('/')).on('lease.id', '<', beneath('0')),
    )
    .select('lease.id')
    .where('session.id', 'in', dependents(loss))
    .where('lease.expires_at', '>', now);
  return [
    write(build.updateTable('lease').set({ expires_at: now }).where('id', 'in', leases)),
    write(build.deleteFrom('session_credential').where('session_id', 'in', dependents(loss))),
  ];
}

/**
 * Cancels the sessions that depend on what is being removed, ends their credentials, and takes its
 * id out of them. It comes before the removal in the same write set. Versions stay; `updated_ms` grows.
 */
export function cancelAffected(loss: Loss, now: number): Write[] {
  const sessions = () => dependents(loss);
  const writes: Write[] = [
    ...endCredentialsOf(loss, Math.floor(now / 1000)),
    write(
      build
        .updateTable('resource')
        .set({ updated_ms: laterThanBefore(now) })
        .where('id', 'in', sessions()),
    ),
    write(
      build
        .updateTable('session')
        .set({ status: 'canceling', canceling_ms: now, due_ms: now })
        .where('id', 'in', sessions())
        // Said by what they are not: as what few are, PostgreSQL would begin with all that go on.
        .where('status', 'not in', ENDING_STATUSES),
    ),
  ];
  const lost = lostColumns(loss);
  if (lost) {
    writes.push(write(build.updateTable('session').set(lost).where('id', 'in', sessions())));
  }
  const gone = goneUsers(loss);
  if (gone) {
    const owned = build.updateTable('resource').set({ owner_id: '' }).where('owner_id', 'in', gone);
    writes.push(write(owned.where('type', '=', 'session')));
  }
  return writes;
}

function goneUsers(loss: Loss): readonly string[] | Expression<string> | undefined {
  if ('user_ids' in loss) return loss.user_ids;
  return 'scope_ids' in loss ? sql<string>`${inScopes(loss.scope_ids, 'user')}` : undefined;
}

function lostColumns(loss: Loss): Partial<SessionRow> | undefined {
  if ('target_id' in loss) return { target_id: '' };
  if ('log_ins' in loss) return { auth_token_id: '' };
  if ('host_set_id_of' in loss) return undefined;
  if ('host_ids' in loss) return lostHost(loss);
  if ('of_host_sets' in loss) return { host_set_id: '' };
  if ('host_catalog_id' in loss) return { host_id: '', host_set_id: '' };
  return undefined;
}

const lostHost = ({ with_sets }: { with_sets?: true }): Partial<SessionRow> =>
  with_sets ? { host_id: '', host_set_id: '' } : { host_id: '' };

/** What is removed, as far as its sessions are ended in pages. */
export type PagedLoss =
  | { user_ids: readonly string[] }
  | { of_entities: readonly string[] }
  | { of_named: Expression<string> }
  | { auth_mount: { id: string } }
  | { target_id: string }
  | { token_ids: readonly string[] }
  | { alias_ids: Expression<string> }
  | { log_in_ids: readonly string[] }
  /** `with_sets`: their sets go, too. */
  | { host_ids: readonly string[]; with_sets?: true }
  | { of_host_sets: readonly string[] }
  | { address_of: string }
  | { target_id_of: string; host_set_ids: readonly string[] }
  | { host_set_id_of: string; host_ids_of: readonly string[] };

/** As {@link cancelAffected}, for some of the sessions, which are no longer found by the loss then. */
export function cancelSome(loss: PagedLoss, session_ids: readonly string[], now: number): Write[] {
  const lost = columnsOf(loss);
  const canceled = cancelAffected({ session_ids }, now);
  if (lost === undefined) return canceled;
  return [
    ...canceled,
    write(build.updateTable('session').set(lost).where('id', 'in', session_ids)),
  ];
}

function columnsOf(loss: PagedLoss): Partial<SessionRow> | undefined {
  if ('target_id' in loss) return { target_id: '' };
  if ('log_in_ids' in loss) return { auth_token_id: '' };
  if ('host_ids' in loss) return lostHost(loss);
  if ('of_host_sets' in loss) return { host_set_id: '' };
  return undefined;
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

/** Some of the sessions that depend on what is removed; those that were ended for it are not among them. */
export async function listSessionsOf(db: Db, loss: PagedLoss, limit: number): Promise<string[]> {
  if ('user_ids' in loss) {
    const own = db.selectFrom('resource').select('id').where('owner_id', 'in', loss.user_ids);
    return idsOf(await own.where('type', '=', 'session').limit(limit).execute());
  }
  const sessions = selectSessions(db).limit(limit);
  if ('of_entities' in loss || 'of_named' in loss) {
    return idsOf(await byPerson(sessions, loss).execute());
  }
  if ('auth_mount' in loss) return idsOf(await byMount(sessions, loss.auth_mount).execute());
  if ('target_id' in loss) {
    return idsOf(await sessions.where('target_id', '=', loss.target_id).execute());
  }
  if ('log_in_ids' in loss) {
    return idsOf(await sessions.where('auth_token_id', 'in', loss.log_in_ids).execute());
  }
  if ('token_ids' in loss) {
    const by = sessions.where(goesOn).where('session.token_id', '<>', sql.lit(''));
    const own = by.where('session.token_id', 'in', loss.token_ids);
    return idsOf(await own.where(aside('session.token_id'), 'in', loss.token_ids).execute());
  }
  if ('alias_ids' in loss) {
    const by = sessions.where(goesOn).where('session.alias_id', '<>', sql.lit(''));
    const own = by.where('session.alias_id', 'in', loss.alias_ids);
    return idsOf(await own.where(aside('session.alias_id'), 'in', loss.alias_ids).execute());
  }
  if ('of_host_sets' in loss) {
    return idsOf(await throughSets(sessions, loss.of_host_sets).execute());
  }
  if ('host_ids' in loss) {
    const through = sessions.where(isThroughHost).where('host_id', 'in', loss.host_ids);
    return idsOf(await through.execute());
  }
  // The target goes on, and so do its sessions that have ended.
  const live = sessions.where('status', 'in', LIVE_STATUSES);
  if ('address_of' in loss) {
    return idsOf(await direct(live, loss.address_of).execute());
  }
  if ('target_id_of' in loss) {
    const of = live.where('target_id', '=', loss.target_id_of);
    return idsOf(await of.where('host_set_id', 'in', loss.host_set_ids).execute());
  }
  const found: string[] = [];
  // Some hosts a question: a set may lose thousands of them.
  for (let at = 0; at < loss.host_ids_of.length && found.length < limit; at += HOSTS_AT_ONCE) {
    const some = loss.host_ids_of.slice(at, at + HOSTS_AT_ONCE);
    const of = live.where(isThroughHost).where('host_id', 'in', some);
    found.push(...idsOf(await of.where('host_set_id', '=', loss.host_set_id_of).execute()));
  }
  return found.slice(0, limit);
}

const HOSTS_AT_ONCE = 500;

/** Sessions are nobody's once their user is gone. */
export function disown(session_ids: readonly string[]): Write {
  const rows = build.updateTable('resource').set({ owner_id: '' });
  return write(rows.where('id', 'in', session_ids));
}

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
export async function listGroundless(db: Db, ids: readonly string[]): Promise<string[]> {
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
