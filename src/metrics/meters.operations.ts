import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { type App, perApp } from '../app/app.ts';
import type { CommitterStats } from '../store/committer.ts';
import { addUp, emptyHistogram, gather, type Histogram, observe, sum } from './metrics.ts';

interface Meters {
  since: number;
  /** By route. */
  durations: Map<string, Histogram>;
  /** By route, then by status. */
  requests: Map<string, Map<number, number>>;
  loop: ReturnType<typeof monitorEventLoopDelay>;
}

const metersOf = perApp<Meters>((app) => {
  const loop = monitorEventLoopDelay({ resolution: 20 });
  loop.enable();
  app.onClose(() => {
    loop.disable();
  });
  return { since: app.now(), durations: new Map(), requests: new Map(), loop };
});

/** What one thread has measured since it started, as it can be handed to another one. */
export interface Measured {
  durations: ReadonlyMap<string, Histogram>;
  requests: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Reads that need no token, by route. */
  public_reads: ReadonlyMap<string, number>;
  store: CommitterStats;
  /** Of the delay of its event loop, seconds by percentile. */
  loop_delays: ReadonlyMap<number, number>;
  /** Bytes. */
  heap_used: number;
  external: number;
}

/** What threads have counted that have ended, together: counts never fall. Of how they were nothing is told. */
export function ofEnded(ended: readonly Measured[]): Measured {
  const join = <Value, Joined>(
    read: (one: Measured) => ReadonlyMap<string, Value>,
    add: (values: Value[]) => Joined,
  ): Map<string, Joined> =>
    new Map([...gather(ended.map(read))].map(([route, values]) => [route, add(values)]));
  const addStatuses = (all: ReadonlyMap<number, number>[]): Map<number, number> =>
    new Map([...gather(all)].map(([status, counts]) => [status, sum(counts)]));
  return {
    durations: join(({ durations }) => durations, addUp),
    requests: join(({ requests }) => requests, addStatuses),
    public_reads: join(({ public_reads }) => public_reads, sum),
    store: {
      ...addUpStores(ended.map(({ store }) => store)),
      waiting: 0,
      in_flight: 0,
      alive: true,
    },
    loop_delays: new Map(),
    heap_used: 0,
    external: 0,
  };
}

/** Each thread hands its own write sets to the committer. */
export function addUpStores(stores: readonly CommitterStats[]): CommitterStats {
  const all = (read: (one: CommitterStats) => number): number => sum(stores.map(read));
  return {
    waiting: all(({ waiting }) => waiting),
    in_flight: all(({ in_flight }) => in_flight),
    batches: all(({ batches }) => batches),
    sets: all(({ sets }) => sets),
    refused: all(({ refused }) => refused),
    largest_batch: Math.max(...stores.map(({ largest_batch }) => largest_batch)),
    alive: stores.every(({ alive }) => alive),
  };
}

/** Asks the other threads that answer what they have measured; absent where there are none. */
export const otherMeters = perApp<{ ask?: () => Promise<readonly Measured[]> }>(() => ({}));

/**
 * Counts an answered request.
 *
 * @param route its id; empty for a path that leads nowhere
 * @param seconds from its head being read to its answer being ready
 */
export function countRequest(app: App, route: string, status: number, seconds: number): void {
  const { durations, requests } = metersOf(app);
  observe(durations.getOrInsertComputed(route, emptyHistogram), seconds);
  const statuses = requests.getOrInsertComputed(route, () => new Map<number, number>());
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

/** Since when this server counts, Unix milliseconds. */
export const countedSince = (app: App): number => metersOf(app).since;

const PERCENTILES = [50, 99];

/** What this thread has measured. */
export function readMeters(app: App): Measured {
  const { durations, requests, loop } = metersOf(app);
  const { used_heap_size: heap_used, external_memory: external } = getHeapStatistics();
  return {
    durations,
    requests,
    public_reads: app.audit.counts(),
    store: app.store.stats(),
    loop_delays: new Map(PERCENTILES.map((one) => [one, loop.percentile(one) / 1e9])),
    heap_used,
    external,
  };
}

/** What all threads have measured; the first is the one that is asked. */
export async function readAllMeters(app: App): Promise<readonly [Measured, ...Measured[]]> {
  return [readMeters(app), ...((await otherMeters(app).ask?.()) ?? [])];
}
