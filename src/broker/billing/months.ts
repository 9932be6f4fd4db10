/** The month of an instant, `2026-11`, in UTC. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** The month some months later, or earlier. */
export function addMonths(month: string, count: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number - 1 + count, 1));
}

/** When a month begins, Unix milliseconds. */
export function startOf(month: string): number {
  return Date.parse(`${month}-01T00:00:00Z`);
}

type MonthsVerdict =
  | { from: string; before: string }
  | { refused: string; field: 'start_time' | 'end_time' };

/** Twenty years: more than anybody asks for. */
const MOST = 240;
const MONTH = /^[1-9]\d{3}-(0[1-9]|1[0-2])$/;

/**
 * The months that a request asks for: from a month on, until before another one. Without
 * either, the last month and this one; without an end, up to this one.
 *
 * @param asked empty: not given
 */
export function judgeMonths(
  asked: { start_time: string; end_time: string },
  now: number,
): MonthsVerdict {
  const { start_time, end_time } = asked;
  const next = addMonths(monthOf(now), 1);
  for (const field of ['start_time', 'end_time'] as const) {
    if (asked[field] !== '' && !MONTH.test(asked[field])) {
      return { field, refused: 'This must be a month such as 2026-01.' };
    }
  }
  if (start_time === '') {
    if (end_time === '') return { from: addMonths(next, -2), before: next };
    return { field: 'start_time', refused: 'This is required where end_time is given.' };
  }
  if (end_time !== '' && end_time <= start_time) {
    return { field: 'end_time', refused: 'This must be later than start_time.' };
  }
  const before = end_time === '' || end_time > next ? next : end_time;
  if (start_time < addMonths(before, -MOST)) {
    return { field: 'start_time', refused: `This must be within ${MOST} months of the end.` };
  }
  return { from: start_time, before };
}

/** The months of a range, the latest first. */
export function listMonths({ from, before }: { from: string; before: string }): string[] {
  const months: string[] = [];
  for (let month = addMonths(before, -1); month >= from; month = addMonths(month, -1)) {
    months.push(month);
  }
  return months;
}
