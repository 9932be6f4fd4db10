import { type Kysely, sql } from 'kysely';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import { build, type Db, prepared, preparedWrite } from '../../../store/database.ts';
import type { Tables } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import type { Resource } from '../../resource/resource.ts';
import { noteScopes } from '../../resource/scope-tree/store.ts';
import type { ScopeBody } from '../../resource/scope-tree/tree.ts';
import { MOST_SCOPES, mostIn, type ScopeCounts } from './room.ts';

/**
 * A scope whose primary auth method goes has none afterwards. It is asked when the write set runs:
 * whoever is making the method the primary one holds it until that is durable.
 */
export function clearPrimary(method: Pick<Resource, 'id' | 'scope_id'>, now_ms: number): Write[] {
  const bodyWith = (primary_auth_method_id: string): string =>
    JSON.stringify({ primary_auth_method_id } satisfies ScopeBody);
  const clear = write(
    build
      .updateTable('resource')
      .set((row) => ({
        body: bodyWith(''),
        version: row('version', '+', 1),
        // Later than before even within one millisecond, so that a refreshed list sees it.
        updated_ms: row
          .case()
          .when('updated_ms', '<', now_ms)
          .then(now_ms)
          .else(row('updated_ms', '+', 1))
          .end(),
      }))
      .where('id', '=', method.scope_id)
      .where('body', '=', bodyWith(method.id)),
  );
  return [clear, ...noteScopes({ ids: [method.scope_id] })];
}

type Where = { parent_id: string; most: number };

/** Counted as far as the bounds go, whatever an older program let in. */
function countScopes(from: Kysely<Tables>, { parent_id, most }: Where) {
  const scopes = from.selectFrom('resource').select('id').where('type', '=', 'scope');
  const siblings = scopes.where('container_id', '=', parent_id).limit(most);
  const all = scopes.limit(sql.lit(MOST_SCOPES + 1));
  return from.selectFrom(siblings.as('beside')).select((row) => [
    row.fn.countAll<number | bigint>().as('siblings'),
    row
      .selectFrom(all.as('every'))
      .select((inner) => inner.fn.countAll<number | bigint>().as('n'))
      .as('every'),
  ]);
}

const counts = prepared<Where, { siblings: number | bigint; every: number | bigint | null }>(
  countScopes,
);

/** How many scopes a new one would be beside. */
export async function readScopeCounts(db: Db, parent_id: string): Promise<ScopeCounts> {
  const row = await counts.first(db, whereOf(parent_id));
  return { siblings: Number(row?.siblings ?? 0), all: Number(row?.every ?? 0) };
}

const whereOf = (parent_id: string): Where => ({ parent_id, most: mostIn(parent_id) + 1 });

const within = preparedWrite<Where & { bound: number }>(
  (from, p) =>
    from
      .selectFrom(countScopes(from, p).as('counts'))
      .select('siblings')
      .where('siblings', '<=', p.bound)
      .where('every', '<=', MOST_SCOPES),
  { rows: 1 },
);

/**
 * Refuses its write set, behind the row of the new scope, where that is one too many. Whoever makes a scope
 * bumps the configuration's version: there two of them wait for one another, so that the later one counts
 * the other's.
 */
export function holdScopeRoom(parent_id: string): Write[] {
  const bound = mostIn(parent_id);
  return [bumpConfigVersion(), within({ ...whereOf(parent_id), bound })];
}
