const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 timestamp, e.g. `2030-01-31T12:00:00Z` or `9999-12-31T23:59:59+02:00`.
 * Fractions of a second are dropped.
 *
 * @returns Unix seconds, or `undefined` when the text is no such timestamp (a 31 February, too)
 * @see RFC 3339 §5.6
 */
export function parseTimestamp(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59)
    return undefined;
  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetHours = Number(match[8] ?? 0);
  const offsetMinutes = Number(match[9] ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offset = (offsetHours * 60 + offsetMinutes) * 60;
  return date.getTime() / 1000 - (match[7] === '-' ? -offset : offset);
}

/** Writes Unix seconds as an RFC 3339 timestamp in UTC, e.g. `2030-01-31T12:00:00Z`. */
export function formatTimestamp(seconds: number): string {
  return new Date(Math.floor(seconds) * 1000).toISOString().replace('.000Z', 'Z');
}

const DAY_MS = 86_400_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
/** The day that was written last, as far as its `T`. */
let last = { day: Number.NaN, text: '' };

/**
 * Writes Unix milliseconds as `Date` does, e.g. `2030-01-31T12:00:00.123Z`, in a third of the time where the day is
 * that of the time before: a record has one, and each item of a list two.
 */
export function formatMilliseconds(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  if (day !== last.day) {
    last = { day, text: new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length) };
  }
  const rest = ms - day * DAY_MS;
  const hour = TWO_DIGITS[Math.floor(rest / 3_600_000)];
  const minute = TWO_DIGITS[Math.floor(rest / 60_000) % 60];
  const second = TWO_DIGITS[Math.floor(rest / 1000) % 60];
  return `${last.text}${hour}:${minute}:${second}.${String(Math.floor(rest % 1000)).padStart(3, '0')}Z`;
}
