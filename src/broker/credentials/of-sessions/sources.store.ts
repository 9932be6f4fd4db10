import { sql } from 'kysely';
import type { Db } from '../../../store/database.ts';
import { preparedForIds } from '../../resource/by-ids.store.ts';

/** What is known of a source before it is read. */
export interface SourceHead {
  id: string;
  type: string;
  version: number;
  container_id: string;
  /** Bytes of its name and description. */
  texts: number;
  /** Bytes of what only its type knows. */
  body: number;
  /** Bytes of its sealed secret. */
  sealed: number;
}

const bytes = (column: 'name' | 'description' | 'body' | 'secret_sealed') =>
  sql<number>`coalesce(octet_length(${sql.ref(column)}), 0)`;

const headsOf = preparedForIds<Record<never, never>, SourceHead>((from, ids) =>
  from
    .selectFrom('resource')
    .select([
      'id',
      'type',
      'version',
      'container_id',
      sql<number>`${bytes('name')} + ${bytes('description')}`.as('texts'),
      bytes('body').as('body'),
      bytes('secret_sealed').as('sealed'),
    ])
    .where('id', 'in', ids),
);

/** How long some sources are, in the order of their ids; those that are gone are left out. */
export async function listHeads(db: Db, ids: readonly string[]): Promise<SourceHead[]> {
  const found = new Map((await headsOf(db, ids, {})).map((head) => [head.id, head]));
  return ids.flatMap((id) => found.get(id) ?? []);
}
