import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateProgram } from './evaluate.ts';

// Its clocks go from 2 to 3 on 10 March 2030 at 07:00 UTC.
process.env.TZ = 'America/New_York';

const ROWS: readonly [time: string, asked: string, found: string][] = [
  ['2030-03-10T01:59:59Z', 'getHours()', '1'],
  ['2030-03-10T02:30:00Z', 'getHours()', '2'],
  ['2030-03-10T02:30:00Z', 'getHours("UTC")', '2'],
  ['2030-03-10T02:30:00Z', 'getHours("+00:00")', '2'],
  ['2030-03-10T06:59:59Z', 'getHours("America/New_York")', '1'],
  ['2030-03-10T07:00:00Z', 'getHours("America/New_York")', '3'],
  ['2030-03-10T01:30:00Z', 'getDate("-02:00")', '9'],
  ['2030-03-10T01:30:00Z', 'getDate("02:00")', '10'],
  ['2030-03-10T22:30:00Z', 'getDayOfMonth("+02:00")', '10'],
  ['2030-03-10T22:30:00Z', 'getDayOfWeek()', '0'],
  ['2030-03-10T22:30:00Z', 'getDayOfWeek("Europe/Berlin")', '0'],
  ['2030-03-10T23:00:00Z', 'getDayOfWeek("Europe/Berlin")', '1'],
  ['2030-01-01T00:00:00Z', 'getDayOfYear()', '0'],
  ['2030-07-04T00:30:00Z', 'getDayOfYear()', '184'],
  ['2030-07-03T23:59:59Z', 'getDayOfYear()', '183'],
  ['2028-12-31T12:00:00Z', 'getDayOfYear()', '365'],
  ['2030-12-31T23:00:00Z', 'getFullYear("Asia/Tokyo")', '2031'],
  ['0050-03-01T00:00:00Z', 'getFullYear()', '50'],
  ['0050-03-01T00:00:00Z', 'getDayOfYear("UTC")', '59'],
  ['1969-12-31T23:59:59.25Z', 'getMilliseconds("UTC")', '250'],
  ['2030-03-10T02:30:01.9996Z', 'getSeconds()', '1'],
  ['2030-03-10T02:30:01.9996Z', 'getMilliseconds()', '999'],
  ['2030-03-10T02:30:01Z', 'getMinutes("Asia/Kolkata")', '0'],
  ['2030-03-10T02:30:01Z', 'getMonth()', '2'],
];

for (const [time, asked, found] of ROWS) {
  test(`${asked} at ${time} is ${found}, whatever the zone of the server`, () => {
    const expression = `string(timestamp("${time}").${asked})`;
    const verdict = evaluateProgram({
      ...{ request: {}, now: 0, use_csr: false, identity: undefined, groups: [] },
      program: { variables: [], expression },
    });
    assert.deepEqual(verdict, { allowed: false, because: found });
  });
}
