import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Immutable } from '../../core/immutable.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import { IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import { formatTime } from '../resource/resource.ts';
import { addMonths, judgeMonths, listMonths, startOf } from './months.ts';
import { countActiveUsers } from './store.ts';

const month = z.object({
  count: z.int().optional().describe('Absent for none.'),
  start_time: z.string().optional().describe('RFC 3339.'),
  end_time: z.string().optional().describe('RFC 3339.'),
});

export const activeUsers = z.object({ items: z.array(month).optional() });

/**
 * How many users had sessions, month by month, the latest first.
 *
 * @throws Failure `invalid` for months that make no range
 */
export async function listActiveUsers(
  app: App,
  asked: { start_time: string; end_time: string },
): Promise<Immutable<z.output<typeof activeUsers>>> {
  const range = judgeMonths(asked, app.now());
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
