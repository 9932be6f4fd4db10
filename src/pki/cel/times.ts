import { type CelFunc, CelScalar, celMethod, objectType } from '@bufbuild/cel';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Budget } from './budget.ts';

const { STRING, INT } = CelScalar;
const TIMESTAMP = objectType(TimestampSchema);

const DAY_MS = 86_400_000;

/** What is asked of a timestamp, of a date whose UTC is what clocks show there. Months and days begin with 0, but for `getDate`. */
const GETTERS: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => (startOfDay(date) - startOfDay(dateOf(date.getUTCFullYear()))) / DAY_MS,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

const startOfDay = (date: Date): number => Math.floor(date.getTime() / DAY_MS) * DAY_MS;

/** Also of the first century, which the engine takes for the twentieth. */
function dateOf(year: number, month = 0, day = 1, ...time: number[]): Date {
  const date = new Date(Date.UTC(2000, 0, 1, ...time));
  date.setUTCFullYear(year, month, day);
  return date;
}

/** Where there is a zone the engine's calendar is asked for it, which takes as long as so many steps. */
const ZONE_STEPS = 500;

/** The library's go by the zone of the server, whose clocks leave out an hour in spring. */
export const timeFunctions = (budget: Budget): CelFunc[] =>
  Object.entries(GETTERS).flatMap(([name, get]) => [
    celMethod(name, TIMESTAMP, [], INT, function () {
      return BigInt(get(new Date(msOf(this.message))));
    }),
    celMethod(name, TIMESTAMP, [STRING], INT, function (zone) {
      budget.step(ZONE_STEPS);
      return BigInt(get(shownIn(zone, msOf(this.message))));
    }),
  ]);

const msOf = ({ seconds, nanos }: Timestamp): number =>
  Number(seconds) * 1000 + Math.floor(nanos / 1_000_000);

/** Hours and minutes that the clocks there are ahead. */
const OFFSET = /^([+-]?)([0-9]{2}):([0-9]{2})$/;

/** @throws Error for no zone */
function shownIn(zone: string, ms: number): Date {
  const [, sign, hours, minutes] = OFFSET.exec(zone) ?? [];
  if (hours === undefined) return shownInNamed(zone, ms);
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(sign === '-' ? ms - offset : ms + offset);
}

const PARTS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;

function shownInNamed(timeZone: string, ms: number): Date {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  const parts = format.formatToParts(ms);
  const [year = 0, month = 1, day = 1, ...time] = PARTS.map((type) =>
    Number(parts.find((part) => part.type === type)?.value),
  );
  return dateOf(year, month - 1, day, ...time, ((ms % 1000) + 1000) % 1000);
}
