import { judgeAccess } from '../acl/acl.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import type { ResultOf } from '../app/output.ts';
import { Failure } from '../core/failure.ts';
import { readMounts, readMountsById } from '../mounts/operations.ts';
import { listCertificateCounts } from '../pki/certificates/store.ts';
import { countLongCrls } from '../pki/crl/publishing.operations.ts';
import { deliveryCounts } from '../pki/expiration/delivery.operations.ts';
import { countWaiting } from '../pki/expiration/store.ts';
import { countRequests } from '../pki/revocation/requests.store.ts';
import { listPublished } from '../pki/tidy/published.operations.ts';
import { addUpStores, countedSince, type Measured, readAllMeters } from './meters.operations.ts';
import {
  addUp,
  describeMetrics,
  gather,
  type metricsOutput,
  type Sample,
  sum,
  type Timings,
  writePrometheus,
} from './metrics.ts';

/**
 * What this node has measured since it started.
 *
 * @throws Failure `forbidden` for a caller who may not read it; without a token too, unless
 *   the server is set to tell everybody
 */
export async function readMetrics(
  app: App,
  caller: Caller,
  input: { format: '' | 'prometheus' },
): Promise<ResultOf<typeof metricsOutput>> {
  if (!app.config.telemetry.unauthenticated_metrics_access && !(await mayRead(caller))) {
    throw new Failure('forbidden', 'permission denied');
  }
  const since = countedSince(app);
  const meters = await readAllMeters(app);
  const samples = await collect(app, meters);
  const durations = gather(meters.map((one) => one.durations));
  const timings = [...durations].sort(byKey).map(
    ([route, histograms]): Timings => ({
      name: 'gatehouse_http_request_duration_seconds',
      help: 'Time from a request to its answer, by route.',
      labels: { route: route || 'none' },
      histogram: addUp(histograms),
    }),
  );
  if (input.format === 'prometheus') {
    return { bytes: writePrometheus(samples, timings) };
  }
  return { bare: describeMetrics(samples, timings, { now: app.now(), since }) };
}

async function mayRead({ acl, asked }: Caller): Promise<boolean> {
  if (!acl || !asked) return false;
  return (await judgeAccess(acl, asked)).allowed;
}

const gauge = (name: string, help: string, value: number, labels = {}): Sample => ({
  name: `gatehouse_${name}`,
  help,
  kind: 'gauge',
  labels,
  value,
});
const counter = (name: string, help: string, value: number, labels = {}): Sample => ({
  ...gauge(name, help, value, labels),
  kind: 'counter',
});

/** Warnings before certificates end. */
async function countWarnings(app: App): Promise<Sample[]> {
  const counts = Object.entries(deliveryCounts(app));
  const waiting = await countWaiting(app.db);
  const told = 'Certificates whose end receivers were told of.';
  const refused = 'Attempts to deliver a warning that failed.';
  return [
    ...counts.map(([channel, { delivered }]) =>
      counter('expiration_warnings_total', told, delivered, { channel }),
    ),
    ...counts.map(([channel, { failed }]) =>
      counter('expiration_warnings_failed_total', refused, failed, { channel }),
    ),
    ...counts.map(([channel]) =>
      gauge('expiration_warnings_waiting', 'Messages on their way.', waiting.get(channel) ?? 0, {
        channel,
      }),
    ),
  ];
}

async function collect(app: App, meters: readonly [Measured, ...Measured[]]): Promise<Sample[]> {
  const requests = gather(meters.map((one) => one.requests));
  const public_reads = gather(meters.map((one) => one.public_reads));
  const store = addUpStores(meters.map((one) => one.store));
  const resident = readResident();
  return [
    ...[...requests].sort(byKey).flatMap(([route, statuses]) =>
      [...gather(statuses)].map(([status, counts]) =>
        counter('http_requests_total', 'Requests answered, by route and status.', sum(counts), {
          route: route || 'none',
          status: String(status),
        }),
      ),
    ),
    ...[...public_reads]
      .sort(byKey)
      .map(([route, counts]) =>
        counter('public_reads_total', 'Reads that need no token.', sum(counts), { route }),
      ),
    ...(await countCertificates(app)).map(([mount, count]) =>
      gauge('certificates_stored', 'Certificates stored, by mount.', count, { mount }),
    ),
    gauge(
      'crls_too_long',
      'CRLs not built, as they would have more than max_crl_entries.',
      countLongCrls(app),
    ),
    ...(await collectTidied(app)).map(([name, help, value, mount]) =>
      gauge(`secrets_pki_${name}`, help, value, { mount }),
    ),
    ...(await countWarnings(app)),
    ...[...(await countRequests(app.db))].map(([cluster, count]) =>
      gauge(
        'revocation_requests_waiting',
        'Revocations that other clusters ask one for; 10000: as many at least.',
        count,
        { cluster },
      ),
    ),
    counter('store_write_sets_total', 'Write sets taken.', store.sets),
    counter('store_write_sets_refused_total', 'Write sets refused.', store.refused),
    counter('store_batches_total', 'Transactions committed.', store.batches),
    gauge('store_write_sets_waiting', 'Write sets that wait.', store.waiting),
    gauge('store_write_sets_in_flight', 'Write sets in the present transaction.', store.in_flight),
    gauge('store_largest_batch', 'Most write sets in one transaction.', store.largest_batch),
    gauge('store_alive', 'Whether anything can be written.', store.alive ? 1 : 0),
    ...loopDelays(meters),
    ...(resident === undefined
      ? []
      : [gauge('memory_resident_bytes', 'Memory of the process.', resident)]),
    gauge(
      'memory_heap_used_bytes',
      'Memory of JavaScript values in use.',
      sum(meters.map(({ heap_used }) => heap_used)),
    ),
    gauge(
      'memory_external_bytes',
      'Memory of buffers.',
      sum(meters.map(({ external }) => external)),
    ),
    gauge('uptime_seconds', 'Time since the process began.', process.uptime()),
  ];
}

/** Of each thread, where there are several: the one that supervises is 0. */
function loopDelays(meters: readonly Measured[]): Sample[] {
  return meters.flatMap(({ loop_delays }, thread) =>
    [...loop_delays].map(([percentile, seconds]) =>
      gauge('event_loop_delay_seconds', 'Delay of the event loop.', seconds, {
        quantile: String(percentile / 100),
        ...(meters.length > 1 ? { thread: String(thread) } : {}),
      }),
    ),
  );
}

/** Undefined where no file can be opened any more, from which it is learnt. */
function readResident(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

async function countCertificates(app: App): Promise<[mount: string, count: number][]> {
  const stored = await listCertificateCounts(app.db);
  const counts: [string, number][] = [];
  for (const mount of (await readMounts(app)).values()) {
    if (mount.type === 'pki') counts.push([mount.path, stored.get(mount.id) ?? 0]);
  }
  return counts;
}

/** In order of their names, as the text format wants them. */
async function collectTidied(
  app: App,
): Promise<[name: string, help: string, value: number, mount: string][]> {
  const published = await listPublished(app);
  if (published.length === 0) return [];
  const mounts = await readMountsById(app);
  const all = (name: string, help: string, read: (one: (typeof published)[number]) => number) =>
    published.flatMap((one): [string, string, number, string][] => {
      const mount = mounts.get(one.mount_id)?.path;
      return mount === undefined ? [] : [[name, help, read(one), mount]];
    });
  const last = 'of the last tidying, by mount.';
  return [
    ...all(
      'total_certificates_stored',
      'Certificates stored, by mount.',
      (one) => one.certificates,
    ),
    ...all(
      'total_revoked_certificates_stored',
      'Revocations stored, by mount.',
      (one) => one.revocations,
    ),
    ...all(
      'tidy_cert_store_deleted_count',
      `Certificates ${last}`,
      (one) => one.counts.cert_store_deleted_count,
    ),
    ...all(
      'tidy_revoked_cert_deleted_count',
      `Revocations ${last}`,
      (one) => one.counts.revoked_cert_deleted_count,
    ),
  ];
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
