import { sql } from 'kysely';
import { findSubjectVersion } from '../../../store/config-subject.ts';
import { build, type Db, prepared } from '../../../store/database.ts';
import { type Write, write } from '../../../store/write.ts';

// Each change of a scope has a number, and as many of the last are remembered as somebody may not have
// heard of yet: who knows all scopes as of one number reads those that changed since, and no others.

const sequence = prepared<Record<never, never>, { value: number }>((from) =>
  from.selectFrom('resource_sequence').select('value').where('name', '=', 'scope'),
);

/** As of when all scopes are known. */
export interface ScopeState {
  /** The number of the last change that was noted here. */
  change: number;
  /** Of all scopes; it grows with each change, also with one of which nothing was noted. */
  version: number;
}

export async function readScopeState(db: Db): Promise<ScopeState> {
  // In this order: a change that comes in between is in the version alone, and is noted all the same.
  const change = (await sequence.first(db, {}))?.value ?? 0;
  return { change, version: (await findSubjectVersion(db, 'broker/scopes')) ?? 0 };
}

/** Changes that are remembered. */
const REMEMBERED = 1_000;

const changes = prepared<{ after: number; upTo: number }, { seq: number; id: string }>((from, p) =>
  from
    .selectFrom('scope_change')
    .select(['seq', 'id'])
    .where('seq', '>', p.after)
    .where('seq', '<=', p.upTo),
);

/** Ids of the scopes that changed after one change and up to another; undefined where that is forgotten. */
export async function listChangedScopes(
  db: Db,
  after: number,
  upTo: number,
): Promise<string[] | undefined> {
  if (after > upTo || upTo - after > REMEMBERED) return undefined;
  const rows = await changes.all(db, { after, upTo });
  const known = new Set(rows.map(({ seq }) => seq));
  return known.size === upTo - after ? [...new Set(rows.map(({ id }) => id))] : undefined;
}

/** Scopes that a change is of: by their ids, or a scope with those that lie in it when the write set runs. */
export type Changed = { ids: readonly string[] } | { within: string };

/**
 * Belongs into every write set that makes, changes or removes scopes: of a removal in front of it, and always in
 * front of what bumps the configuration's version, so that no two wait for one another.
 */
export function noteScopes(changed: Changed): Write[] {
  const here = build.selectFrom('resource_sequence').where('name', '=', 'scope');
  const number = here.select('value');
  const numbered =
    'ids' in changed
      ? changed.ids.map((id) => ({ seq: sql<number>`${number}`, id }))
      : build
          .selectFrom('resource')
          .select([sql<number>`${number}`.as('seq'), 'resource.id'])
          .where('type', '=', 'scope')
          .where((row) =>
            row.or([row('id', '=', changed.within), row('container_id', '=', changed.within)]),
          );
  const insert = build.insertInto('scope_change');
  return [
    write(
      build
        .updateTable('resource_sequence')
        .set((row) => ({ value: row('value', '+', 1) }))
        .where('name', '=', 'scope'),
      { rows: 1 },
    ),
    write(
      Array.isArray(numbered)
        ? insert.values(numbered)
        : insert.columns(['seq', 'id']).expression(numbered),
    ),
    write(
      build
        .deleteFrom('scope_change')
        .where('seq', '<=', sql<number>`(${number} - ${sql.lit(REMEMBERED)})`),
    ),
  ];
}
