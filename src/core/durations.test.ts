import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from './durations.ts';
import { formatMilliseconds, formatTimestamp, parseTimestamp } from './timestamps.ts';

const durations: [string, number | undefined][] = [
  ['', 0],
  ['0', 0],
  ['90', 90],
  ['90s', 90],
  ['1m30s', 90],
  ['500ms', 0.5],
  ['1.5h', 5400],
  ['.5h', 1800],
  ['7d', 604_800],
  ['-72h', -259_200],
  ['1.5d', undefined],
  ['1d12h', undefined],
  ['1w', undefined],
  ['1y', undefined],
  ['1h ', undefined],
  ['-', undefined],
  ['--1s', undefined],
  ['1H', undefined],
  ['9223372037', undefined],
  [`${'1'.repeat(100)}s`, undefined],
];

for (const [text, seconds] of durations) {
  test(`"${text}" is ${seconds === undefined ? 'no duration' : `${seconds} seconds`}`, () => {
    assert.equal(parseDuration(text), seconds);
  });
}

test('durations are written with hours as the largest unit', () => {
  assert.equal(formatDuration(0), '0s');
  assert.equal(formatDuration(30), '30s');
  assert.equal(formatDuration(300), '5m0s');
  assert.equal(formatDuration(259_200), '72h0m0s');
  assert.equal(formatDuration(3661), '1h1m1s');
});

const timestamps: [string, number | undefined][] = [
  ['1970-01-01T00:00:00Z', 0],
  ['2020-09-13T14:26:40+02:00', 1_600_000_000],
  ['2020-09-13T12:26:40.999Z', 1_600_000_000],
  ['9999-12-31T23:59:59Z', 253_402_300_799],
  ['2030-02-29T00:00:00Z', undefined],
  ['2030-13-01T00:00:00Z', undefined],
  ['2030-01-01T24:00:00Z', undefined],
  ['2030-01-01 00:00:00Z', undefined],
  ['2030-01-01T00:00:00', undefined],
  ['99999-01-01T00:00:00Z', undefined],
];

for (const [text, seconds] of timestamps) {
  test(`"${text}" is ${seconds === undefined ? 'no timestamp' : `the instant ${seconds}`}`, () => {
    assert.equal(parseTimestamp(text), seconds);
  });
}

test('timestamps are written in UTC to the second', () => {
  assert.equal(formatTimestamp(1_600_000_000), '2020-09-13T12:26:40Z');
  assert.equal(formatTimestamp(253_402_300_799), '9999-12-31T23:59:59Z');
});

const milliseconds = [
  0, 1, 999, 1000, 59_999, 86_399_999, 86_400_000, 1_700_000_000_123, 1_700_000_000_124, 951_782_399_999, 951_782_400_000,
  -1, -86_400_000, -86_400_001, 253_402_300_799_999, 253_402_300_800_000, -62_167_219_200_001, 8_640_000_000_000_000,
  -8_640_000_000_000_000, 1_700_000_000_123.75,
]; // biome-ignore format: one table

for (const ms of milliseconds) {
  test(`${ms} ms are written as Date writes them, whatever was written before`, () => {
    const written = new Date(ms).toISOString();
    assert.equal(formatMilliseconds(ms), written);
    formatMilliseconds(1_000_000_000_000);
    assert.equal(formatMilliseconds(ms), written);
  });
}

for (const ms of [Number.NaN, 8_640_000_086_400_000, Number.POSITIVE_INFINITY]) {
  test(`${ms} ms are no time`, () => {
    assert.throws(() => formatMilliseconds(ms), RangeError);
  });
}
