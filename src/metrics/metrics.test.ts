import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeMetrics,
  emptyHistogram,
  observe,
  type Sample,
  type Timings,
  writePrometheus,
} from './metrics.ts';

const sample = (more: Partial<Sample>): Sample => ({
  name: 'gatehouse_things_total',
  help: 'Things.',
  kind: 'counter',
  value: 1,
  ...more,
});

function timed(...seconds: number[]): Timings {
  const histogram = emptyHistogram();
  for (const one of seconds) observe(histogram, one);
  return { name: 'gatehouse_x_seconds', help: 'X.', labels: { route: 'r' }, histogram };
}

test('a name is explained once, before its first value', () => {
  const text = writePrometheus(
    [sample({ labels: { a: '1' } }), sample({ labels: { a: '2' }, value: 5 })],
    [],
  );
  assert.equal(
    text,
    [
      '# HELP gatehouse_things_total Things.',
      '# TYPE gatehouse_things_total counter',
      'gatehouse_things_total{a="1"} 1',
      'gatehouse_things_total{a="2"} 5',
      '',
    ].join('\n'),
  );
});

test('a label never ends its quotes or its line', () => {
  const text = writePrometheus([sample({ labels: { a: 'x"} 1\n\\' } })], []);
  assert.match(text, /\{a="x\\"\} 1\\n\\\\"\} 1\n$/);
});

test('buckets hold what is at most their bound, all before them counted', () => {
  const text = writePrometheus([], [timed(0.001, 0.0011, 9)]);
  assert.match(text, /le="0.0005"\} 0\n/);
  assert.match(text, /le="0.001"\} 1\n/);
  assert.match(text, /le="0.0025"\} 2\n/);
  assert.match(text, /le="5"\} 2\n/);
  assert.match(text, /le="\+Inf"\} 3\n/);
  assert.match(text, /gatehouse_x_seconds_count\{route="r"\} 3\n/);
});

test('the JSON has milliseconds, means and deviations', () => {
  const described = describeMetrics([sample({ value: 4 })], [timed(0.001, 0.003)], {
    now: 1_800_000_002_000,
    since: 1_800_000_000_000,
  });
  assert.deepEqual(Object.keys(described), [
    'Timestamp',
    'Gauges',
    'Points',
    'Counters',
    'Samples',
  ]);
  assert.equal(described.Timestamp, '2027-01-15 08:00:02 +0000 UTC');
  const [counter] = described.Counters;
  assert.equal(counter?.Name, 'gatehouse.things');
  assert.equal(counter?.Rate, 2);
  const [timing] = described.Samples;
  assert.equal(timing?.Mean, 2);
  assert.equal(timing?.Min, 1);
  assert.equal(Math.round((timing?.Stddev ?? 0) * 1000), 1414);
});

test('nothing measured is nothing, not a hole', () => {
  const described = describeMetrics([], [timed()], { now: 0, since: 0 });
  const [timing] = described.Samples;
  assert.equal(timing?.Min, 0);
  assert.equal(timing?.Mean, 0);
});
