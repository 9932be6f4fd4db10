import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import { build } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { isIdOf } from './ids.ts';

// A resource goes with what it contains and with its links.

/** Ids as a question, answered when the write set runs. */
export type Ids = Expression<string>;

/** A question for ids, as what something is to be `in`. */
export const idsOf = (query: Expression<{ id: string }>): Ids => sql<string>`${query}`;

/** Which resources a removal takes: one with what it contains, some that contain nothing, or
 *  all of some scopes. */
type Removal = { id: string } | { ids: readonly string[] | Ids } | { scope_ids: readonly string[] };

type Row = ExpressionBuilder<Tables, 'resource'>;

function isTaken(removal: Removal, row: Row) {
  if ('ids' in removal) return row('id', 'in', removal.ids);
  if ('id' in removal) {
    return row.or([row('id', '=', removal.id), row('container_id', '=', removal.id)]);
  }
  const { scope_ids } = removal;
  const named = resources().where('resource.id', 'in', scope_ids);
  return row('id', 'in', idsOf(inScopes(scope_ids, resources()).unionAll(named)));
}

const resources = () => build.selectFrom('resource').select('resource.id');

/**
 * Of some resources those that lie in one of some scopes, or in a scope that lies in one. Each by an index: PostgreSQL
 * would ask of every resource whether one of the two is so.
 */
export function inScopes(scope_ids: readonly string[], some: ReturnType<typeof resources>) {
  const within = build
    .selectFrom('resource as inner')
    .select('inner.id')
    .where('inner.type', '=', 'scope')
    .where('inner.scope_id', 'in', scope_ids);
  return some
    .where('resource.scope_id', 'in', scope_ids)
    .unionAll(some.where('resource.scope_id', 'in', within));
}

/**
 * Waits for everybody who is putting something into what goes, or making something that stands on
 * it, and keeps others from beginning. What follows in the write set then sees all of it. Of
 * scopes and of what contains something, the outermost come first: what is being put there would
 * not be seen otherwise.
 */
export function takeResources(removal: Removal): Write[] {
  const take = (isOne: (row: Row) => ReturnType<typeof isTaken>): Write =>
    write(
      build
        .selectFrom((from) =>
          from
            .selectFrom('resource')
            .select('id')
            .where(isOne)
            .orderBy('id')
            .forUpdate()
            .as('taken'),
        )
        .select((row) => row.fn.countAll().as('taken')),
    );
  const all = take((row) => isTaken(removal, row));
  if ('ids' in removal) return [all];
  if ('id' in removal) return [take((row) => row.and([row('id', '=', removal.id)])), all];
  const { scope_ids } = removal;
  // Each by an index: one question for both would look at every scope there is.
  const named = take((row) => row.and([row('id', 'in', scope_ids)]));
  const outer = scope_ids.filter((id) => isIdOf(id, 'scope', 'org'));
  const inside = (): Write =>
    take((row) => row.and([row('type', '=', 'scope'), row('scope_id', 'in', outer)]));
  // What a resource of the scopes contains lies in them as well.
  return [named, ...(outer.length > 0 ? [inside()] : []), all, all];
}

/**
 * Removes resources with their links, and notes their ids for lists that are refreshed. With a
 * scope go the scopes in it, also those made since the removal was decided.
 *
 * @param now Unix milliseconds
 */
export function removeResources(removal: Removal, now: number): Write[] {
  const isGone = (row: Row) => isTaken(removal, row);
  const gone = () => build.selectFrom('resource').where(isGone);
  const sequence = build.selectFrom('resource_sequence').where('name', '=', 'removed');
  return [
    ...takeResources(removal),
    write(
      build
        .updateTable('resource_sequence')
        .set((row) => ({ value: row('value', '+', 1) }))
        .where('name', '=', 'removed'),
      { rows: 1 },
    ),
    write(
      build
        .insertInto('resource_removed')
        .columns(['type', 'seq', 'id', 'container_id', 'removed_ms'])
        .expression(
          gone().select((row) => [
            row.ref('resource.type').as('type'),
            sequence.select('value').as('seq'),
            row.ref('resource.id').as('id'),
            row.ref('resource.container_id').as('container_id'),
            sql<number>`cast(${now} as bigint)`.as('removed_ms'),
          ]),
        ),
    ),
    // Their links go with them.
    write(build.deleteFrom('resource').where(isGone)),
  ];
}
