import { type Expression, sql } from 'kysely';
import { isNotEnded } from '../../access/tokens/ended.ts';
import { aside } from '../../store/aside.ts';
import { build, type Db, prepared } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { ResourceRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type Ids, idsOf, inScopes } from '../resource/removals.store.ts';
import type { Resource } from '../resource/resource.ts';
import { resourceOf } from '../resource/row.ts';
import { USER_ACCESSORS } from './user.ts';

/** Where a page of log-ins ended. */
export interface LogInCursor {
  ms: number;
  id: string;
}

const page = prepared<{ ms: number; id: string; limit: number }, ResourceRow>((from, p) =>
  from
    .selectFrom('resource')
    .selectAll()
    .where('type', '=', 'auth-token')
    .where((row) =>
      row(row.refTuple('created_ms', 'id'), '>', row.tuple(row.val(p.ms), row.val(p.id))),
    )
    .orderBy('created_ms')
    .orderBy('id')
    .limit(p.limit),
);

/** Log-ins, the oldest first. */
export async function listLogIns(
  db: Db,
  { ms, id }: LogInCursor,
  limit: number,
): Promise<Resource[]> {
  return (await page.all(db, { ms, id, limit })).map(resourceOf);
}

/** Which of some rows of tokens are there, and stand for a token that was not ended. */
export async function listTokenRows(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await inBlocks(ids, (some) =>
    db
      .selectFrom('token')
      .select('token.id')
      .where('token.id', 'in', some)
      .where(isNotEnded)
      .execute(),
  );
  return new Set(rows.map((row) => row.id));
}

/** Which of some rows of tokens are those of log-ins that are there. */
export async function listLogInsByToken(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await inBlocks(ids, (some) =>
    db
      .selectFrom('resource')
      .select('unique_key')
      .where('type', '=', 'auth-token')
      .where('unique_key', 'in', some)
      .execute(),
  );
  return new Set(rows.flatMap((row) => row.unique_key ?? []));
}

/** The log-ins that some tokens are of. */
export async function listIdsByToken(db: Db, token_ids: readonly string[]): Promise<string[]> {
  const rows = await inBlocks(token_ids, (some) =>
    db
      .selectFrom('resource')
      .select('id')
      .where('type', '=', 'auth-token')
      .where('unique_key', 'in', some)
      .execute(),
  );
  return rows.map(({ id }) => id);
}

/** The tokens of some log-ins. */
export async function listTokensOf(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('resource').select('unique_key').where('id', 'in', some).execute(),
  );
  return rows.flatMap(({ unique_key }) => unique_key ?? []);
}

/** Notes that a token was used; one that is gone or was noted by another meanwhile stays so. */
export function touchAuthToken(resource: Resource, now: number): Write {
  return write(
    build
      .updateTable('resource')
      .set({ body: JSON.stringify({ ...resource.body, last_used_ms: now }) })
      .where('id', '=', resource.id)
      .where('body', '=', JSON.stringify(resource.body)),
  );
}

/** Those of some tokens whose time is not after that. */
export interface TokensEnded {
  token_ids: readonly string[];
  ended_by: number;
}

export const tokensEnded = ({ token_ids, ended_by }: TokensEnded) =>
  build
    .selectFrom('token')
    .select('token.id')
    .where('token.id', 'in', token_ids)
    .where('token.expires_at', '<=', ended_by);

/** Which log-ins are meant: those through some accounts, or of a user, whoever they are. */
export type LogInsOf =
  | { ids: readonly string[] }
  | { account_ids: readonly string[] }
  | TokensEnded
  | { auth_method_id: string }
  | { user_ids: readonly string[] }
  | { entity_ids: readonly string[] }
  | { alias_ids: Expression<string> };

/** Those of whole scopes: with these go their sessions and whatever else lies there. */
export interface LogInsIn {
  scope_ids: readonly string[];
}

/** Whom of the broker's users some entities are. */
export const usersOf = (entity_ids: readonly string[]) =>
  build
    .selectFrom('resource as person')
    .select('person.id')
    .where('person.type', '=', 'user')
    .where(
      'person.unique_key',
      'in',
      entity_ids.map((id) => `entity:${id}`),
    );

/**
 * Whom of the broker's users some aliases name, as `isAliasOfUser` has it. Compared so that an index of
 * accessors is of no use: it would begin with the aliases of all users.
 */
export const usersNamed = (alias_ids: Expression<string>): Ids =>
  idsOf(
    build
      .selectFrom('identity_alias')
      .select('identity_alias.name as id')
      .where('identity_alias.id', 'in', alias_ids)
      .where((row) =>
        row.or(
          USER_ACCESSORS.map((prefix) =>
            row(
              row.fn<string>('substr', ['mount_accessor', sql.lit(1), sql.lit(prefix.length)]),
              '=',
              sql.lit(prefix),
            ),
          ),
        ),
      ),
  );

/** The ids of log-ins, as a question to be answered when a write set runs. */
export function logInsOf(of: LogInsOf | LogInsIn): Ids {
  const log_ins = build
    .selectFrom('resource')
    .select('resource.id')
    .where('type', '=', 'auth-token');
  if ('ids' in of) {
    const some = build.selectFrom('resource').select('resource.id').where('id', 'in', of.ids);
    return idsOf(some.where(aside('type'), '=', 'auth-token'));
  }
  if ('token_ids' in of) return idsOf(log_ins.where('unique_key', 'in', tokensEnded(of)));
  if ('entity_ids' in of) {
    return idsOf(log_ins.where('owner_id', 'in', usersOf(of.entity_ids)));
  }
  if ('user_ids' in of) return idsOf(log_ins.where('owner_id', 'in', of.user_ids));
  if ('alias_ids' in of) {
    return idsOf(log_ins.where('owner_id', 'in', usersNamed(of.alias_ids)));
  }
  if ('scope_ids' in of) return idsOf(inScopes(of.scope_ids, log_ins));
  const through = build
    .selectFrom('resource_link')
    .select('from_id as id')
    .where('kind', '=', 'log-in-account');
  if ('account_ids' in of) return idsOf(through.where('to_id', 'in', of.account_ids));
  return idsOf(through.where('to_id', 'in', accountsOf(of.auth_method_id)));
}

/** The accounts of an auth method. */
export const accountsOf = (auth_method_id: string): Ids =>
  idsOf(
    build
      .selectFrom('resource')
      .select('resource.id')
      .where('container_id', '=', auth_method_id)
      .where('type', '=', 'account'),
  );

/** The keys of their tokens' rows. */
export function tokenRowsOf(of: LogInsOf | LogInsIn): Ids {
  const rows = build
    .selectFrom('resource')
    .select((row) => row.ref('unique_key').$notNull().as('id'))
    // All of these are log-ins, by whichever way they are found.
    .where('id', 'in', logInsOf(of));
  return idsOf(rows);
}
