import { countSome } from '../../../store/count-some.ts';
import { type Db, prepared } from '../../../store/database.ts';
import type { ResourceTypeName } from '../types.ts';

/** Rows that are counted before others get their turn. */
export const PAGE = 20_000;

/** Behind whom one goes on. */
export interface CountedTo {
  ms: number;
  id: string;
}

const ofType = prepared<
  { type: string; ms: number; id: string; limit: number },
  { counted: number }
>((from, p) =>
  from
    .selectFrom((inner) =>
      inner
        .selectFrom('resource')
        .select('id')
        .where('type', '=', p.type)
        .where((row) =>
          row(row.refTuple('created_ms', 'id'), '>', row.tuple(row.val(p.ms), row.val(p.id))),
        )
        .limit(p.limit)
        .as('some'),
    )
    .select((row) => row.fn.countAll<number>().as('counted')),
);

const endOfPage = prepared<{ type: string; ms: number; id: string; skip: number }, CountedTo>(
  (from, p) =>
    from
      .selectFrom('resource')
      .select(['created_ms as ms', 'id'])
      .where('type', '=', p.type)
      .where((row) =>
        row(row.refTuple('created_ms', 'id'), '>', row.tuple(row.val(p.ms), row.val(p.id))),
      )
      .orderBy('created_ms')
      .orderBy('id')
      .offset(p.skip)
      .limit(1),
);

/**
 * How many there are of a type behind one of them, as far as a page goes.
 *
 * @returns `next` where there may be more than the page
 */
export async function countPage(
  db: Db,
  type: ResourceTypeName,
  after: CountedTo,
): Promise<{ counted: number; next?: CountedTo }> {
  const next = await endOfPage.first(db, { type, ...after, skip: PAGE - 1 });
  if (next) return { counted: PAGE, next };
  const row = await ofType.first(db, { type, ...after, limit: PAGE });
  return { counted: Number(row?.counted ?? 0) };
}

const countInContainer = countSome('resource', ['container_id', 'type']);

/** How many there are of a type in a container, as far as a page goes. */
export async function countContained(
  db: Db,
  type: ResourceTypeName,
  container_id: string,
): Promise<number> {
  return countInContainer(db, { container_id, type }, PAGE);
}
