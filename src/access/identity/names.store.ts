import type { Db } from '../../store/database.ts';
import { PAGE } from '../../store/in-pages.ts';

export const CHANGED = 'it was changed by somebody else in the meantime; read it again';

/** What a list shows of an entity or a group, and what it is ordered by. */
export interface Named {
  id: string;
  name: string;
  name_key: string;
}

export function listNamed(
  db: Db,
  table: 'identity_entity' | 'identity_group',
  last: Named | undefined,
): Promise<Named[]> {
  return db
    .selectFrom(table)
    .select(['id', 'name', 'name_key'])
    .where('name_key', '>', last?.name_key ?? '')
    .orderBy('name_key')
    .limit(PAGE)
    .execute();
}
