import { z } from 'zod';
import { bare, bytes, either } from '../app/output.ts';

/** One measured value, or the total of something counted. */
export interface Sample {
  /** In the form of Prometheus, e.g. `gatehouse_store_batches_total`. */
  name: string;
  help: string;
  kind: 'counter' | 'gauge';
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** How long something took, each time it was done. */
export interface Timings {
  name: string;
  help: string;
  labels: Readonly<Record<string, string>>;
  histogram: Histogram;
}

/** Upper bounds of the buckets, in seconds; one more takes what is longer. */
const BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

export interface Histogram {
  /** One count for each bound, each without those before it, and one for the rest. */
  counts: number[];
  count: number;
  sum: number;
  sum_of_squares: number;
  min: number;
  max: number;
}

export function emptyHistogram(): Histogram {
  const counts = new Array<number>(BOUNDS.length + 1).fill(0);
  return { counts, count: 0, sum: 0, sum_of_squares: 0, min: Number.POSITIVE_INFINITY, max: 0 };
}

/** Adds one length of time, in seconds, in place. */
export function observe(histogram: Histogram, seconds: number): void {
  let place = 0;
  while (place < BOUNDS.length && seconds > (BOUNDS[place] ?? 0)) place++;
  histogram.counts[place] = (histogram.counts[place] ?? 0) + 1;
  histogram.count++;
  histogram.sum += seconds;
  histogram.sum_of_squares += seconds * seconds;
  histogram.min = Math.min(histogram.min, seconds);
  histogram.max = Math.max(histogram.max, seconds);
}

/** All of several, as one. */
export function addUp(histograms: readonly Histogram[]): Histogram {
  const all = emptyHistogram();
  for (const one of histograms) {
    one.counts.forEach((count, place) => {
      all.counts[place] = (all.counts[place] ?? 0) + count;
    });
    all.count += one.count;
    all.sum += one.sum;
    all.sum_of_squares += one.sum_of_squares;
    all.min = Math.min(all.min, one.min);
    all.max = Math.max(all.max, one.max);
  }
  return all;
}

/** What several have by the same name. */
export function gather<Key, Value>(maps: readonly ReadonlyMap<Key, Value>[]): Map<Key, Value[]> {
  const all = new Map<Key, Value[]>();
  for (const map of maps) {
    for (const [key, value] of map) all.getOrInsertComputed(key, () => []).push(value);
  }
  return all;
}

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((all, one) => all + one, 0);

/** Writes the text format of Prometheus, version 0.0.4. */
export function writePrometheus(samples: readonly Sample[], timings: readonly Timings[]): string {
  const lines: string[] = [];
  let last = '';
  for (const { name, help, kind, labels, value } of samples) {
    if (name !== last) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
    last = name;
    lines.push(`${name}${labelText(labels)} ${value}`);
  }
  for (const { name, help, labels, histogram } of timings) {
    if (name !== last) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} histogram`);
    last = name;
    let total = 0;
    BOUNDS.forEach((bound, place) => {
      total += histogram.counts[place] ?? 0;
      lines.push(`${name}_bucket${labelText({ ...labels, le: String(bound) })} ${total}`);
    });
    lines.push(
      `${name}_bucket${labelText({ ...labels, le: '+Inf' })} ${histogram.count}`,
      `${name}_sum${labelText(labels)} ${histogram.sum}`,
      `${name}_count${labelText(labels)} ${histogram.count}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const counted = {
  Name: z.string(),
  Count: z.int(),
  Rate: z.number().describe('Per second since the server started.'),
  Sum: z.number(),
  Min: z.number(),
  Max: z.number(),
  Mean: z.number(),
  Stddev: z.number().describe('Standard deviation.'),
  Labels: z.record(z.string(), z.string()),
};
const metricsSchema = z.object({
  Timestamp: z.string().describe('When they were read, e.g. "2030-01-31 12:00:00 +0000 UTC".'),
  Gauges: z
    .array(z.object({ Name: z.string(), Value: z.number(), Labels: counted.Labels }))
    .describe('What is measured as it is now.'),
  Points: z.array(z.never()).describe('Always empty.'),
  Counters: z.array(z.object(counted)).describe('What is counted since the server started.'),
  Samples: z.array(z.object(counted)).describe('How long things took. Milliseconds.'),
});
export const metricsOutput = either(bare(metricsSchema), bytes('text/plain; version=0.0.4'));

/**
 * Describes the same as the JSON that clients of this API read.
 *
 * @param now Unix milliseconds
 * @param since when counting began, Unix milliseconds; rates are means since then
 */
export function describeMetrics(
  samples: readonly Sample[],
  timings: readonly Timings[],
  { now, since }: { now: number; since: number },
): z.output<typeof metricsSchema> {
  const seconds = Math.max(1, (now - since) / 1000);
  return {
    Timestamp: `${new Date(now).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`,
    Gauges: samples
      .filter(({ kind }) => kind === 'gauge')
      .map(({ name, labels, value }) => ({
        Name: dotted(name),
        Value: value,
        Labels: labels ?? {},
      })),
    Points: [],
    Counters: samples
      .filter(({ kind }) => kind === 'counter')
      .map(({ name, labels, value }) => ({
        Name: dotted(name),
        Count: value,
        Rate: value / seconds,
        Sum: value,
        Min: 1,
        Max: 1,
        Mean: 1,
        Stddev: 0,
        Labels: labels ?? {},
      })),
    Samples: timings.map(({ name, labels, histogram }) => ({
      Name: dotted(name.replace(/_seconds$/, '')),
      ...inMilliseconds(histogram, seconds),
      Labels: labels,
    })),
  };
}

const dotted = (name: string): string => name.replace('_', '.').replace(/_total$/, '');

function inMilliseconds(histogram: Histogram, seconds: number) {
  const { count, sum, sum_of_squares, min, max } = histogram;
  const mean = count === 0 ? 0 : sum / count;
  const variance = count < 2 ? 0 : (sum_of_squares - count * mean * mean) / (count - 1);
  return {
    Count: count,
    Rate: (sum * 1000) / seconds,
    Sum: sum * 1000,
    Min: count === 0 ? 0 : min * 1000,
    Max: max * 1000,
    Mean: mean * 1000,
    Stddev: Math.sqrt(Math.max(0, variance)) * 1000,
  };
}
