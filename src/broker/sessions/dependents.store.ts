import { type Expression, sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import { namedIn } from '../../store/named-in.ts';
import {
  type LogInsOf,
  logInsOf,
  type TokensEnded,
  tokensEnded,
  usersNamed,
  usersOf,
} from '../principals/log-ins.store.ts';
import { ENDING_STATUSES, LIVE_STATUSES } from './session.ts';

/** What is removed, so that sessions which depend on it are canceled. */
export type CancellationCause =
  | { target_id: string }
  | { log_ins: LogInsOf }
  | { session_ids: readonly string[] }
  /** Those of some sessions that have ended. */
  | { ended_among: readonly string[] }
  | { user_ids: readonly string[] }
  /** Tokens of the Vault API that sessions were authorized by: by their rows, … */
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

/** Written as in the index of those sessions: SQLite would otherwise pass it over and read all others. */
export const isThroughHost = sql<boolean>`session.host_id <> ''`;

/** Written as in the indexes of live sessions: by their statuses, SQLite would begin with all of one. */
export const goesOn = sql<boolean>`session.status not in (${sql.join(ENDING_STATUSES.map((one) => sql.lit(one)))})`;

function affected(loss: CancellationCause) {
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

export const inScopes = (scope_ids: readonly string[], type: 'scope' | 'user' | 'auth-token') =>
  build
    .selectFrom('resource as gone')
    .select('gone.id')
    .where('gone.scope_id', 'in', scope_ids)
    .where('gone.type', '=', type);

/** Sessions that log-ins of the Vault API authorized: their tokens, or where those have no row, they. */
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

export const selectSessions = (from: Pick<Db, 'selectFrom'>) =>
  from.selectFrom('session').select('session.id');

// Of what goes on and is somebody's, PostgreSQL expects as many as if the one had nothing to do with the other,
// and would go through half of a table for three of them: what is said once more, aside, it takes to be rare.

export const byMount = (sessions: Sessions, { id }: { id: string }) =>
  sessions
    .where(goesOn)
    .where('session.auth_mount_id', '<>', sql.lit(''))
    .where('session.auth_mount_id', '=', id)
    .where(aside('session.auth_mount_id'), '=', id);

/** Of the users that some entities are, or that some aliases name. */
export function byPerson(
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

export const throughSets = (sessions: Sessions, host_set_ids: readonly string[]) =>
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

export const direct = (sessions: Sessions, target_id: string) =>
  sessions
    .where('target_id', '=', target_id)
    .where('host_set_id', '=', '')
    .where('host_id', '=', '')
    .where(aside('target_id'), '=', target_id);

/** Of what goes on, sessions that have ended are left as they are. */
export const dependents = (loss: CancellationCause) =>
  'address_of' in loss || 'target_id_of' in loss || 'host_set_id_of' in loss
    ? affected(loss).where('status', 'in', LIVE_STATUSES)
    : affected(loss);

export const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

export const HOSTS_AT_ONCE = 500;
