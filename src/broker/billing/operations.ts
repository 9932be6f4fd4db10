import type { App } from '../../app/app.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import { IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import { formatTime } from '../resource/resource.ts';
import { addMonths, judgeMonths, listMonths, startOf } from './months.ts';
import { countActiveUsers } from './store.ts';

/**
 * How many users had sessions, month by month, the latest first.
 *
 * @throws Failure `invalid` for months that make no range
 */
export async function listActiveUsers(
  app: App,
  query: URLSearchParams,
): Promise<Record<string, unknown>> {
  const range = judgeMonths(
    { start_time: query.get('start_time') ?? '', end_time: query.get('end_time') ?? '' },
    app.now(),
  );
  if ('refused' in range) refuseField(range.field, range.refused, IN_REQUEST);
  const counts = await countActiveUsers(app.db, range);
  return omitEmpty({
    items: listMonths(range).map((month) =>
      omitEmpty({
        count: counts.get(month) ?? 0,
        start_time: formatTime(startOf(month)),
        end_time: formatTime(startOf(addMonths(month, 1))),
      }),
    ),
  });
}
