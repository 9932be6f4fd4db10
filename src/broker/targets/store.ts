import { sql } from 'kysely';
import { type Db, prepared } from '../../store/database.ts';
import type { LinkKind } from '../resource/links/store.ts';

/** Something that a target refers to, or an alias that refers to it. */
export interface Linked {
  kind: LinkKind;
  id: string;
  container_id: string;
  /** JSON; only of an alias, of which it is shown. */
  body: string;
}

const around = prepared<{ id: string }, Linked>((from, { id }) =>
  from
    .selectFrom('resource_link as link')
    .innerJoin('resource as other', 'other.id', 'link.to_id')
    .select(['link.kind', 'other.id', 'other.container_id', sql.lit('').as('body')])
    .where('link.from_id', '=', id)
    .unionAll(
      from
        .selectFrom('resource_link as link')
        .innerJoin('resource as other', 'other.id', 'link.from_id')
        .select(['link.kind', 'other.id', 'other.container_id', 'other.body'])
        .where('link.to_id', '=', id)
        .where('link.kind', '=', 'alias-destination'),
    )
    .$castTo<Linked>(),
);

/** All that a target is linked with, in byte order of the ids: one statement, as reads are many. */
export async function listLinked(db: Db, target_id: string): Promise<Linked[]> {
  const linked = await around.all(db, { id: target_id });
  return linked.sort((a, b) => (a.id < b.id ? -1 : 1));
}

const SOURCES: readonly LinkKind[] = ['target-brokered', 'target-injected'];

const oneSource = prepared<{ id: string }, { kind: string }>((from, { id }) =>
  from
    .selectFrom('resource_link')
    .select('kind')
    .where('from_id', '=', id)
    .where(
      'kind',
      'in',
      SOURCES.map((kind) => sql.lit(kind)),
    )
    .limit(1),
);

/** Whether sessions of a target are given credentials. */
export async function hasCredentialSources(db: Db, target_id: string): Promise<boolean> {
  return (await oneSource.first(db, { id: target_id })) !== undefined;
}
