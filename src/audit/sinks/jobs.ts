import type { StoreLog } from '../../store/committer.ts';
import type { Store } from '../../store/store.ts';
import {
  deleteCursor,
  findCursor,
  listCursors,
  listRecordsAfter,
  readChainStart,
  saveCursor,
} from '../store.ts';
import { type FedRecord, retryPause, type Sink } from './sink.ts';

/** Records that a sink is given at once. */
const BATCH = 512;
/** After news, to take more of it at once, in milliseconds. */
const GROUP_TIME = 100;
/** Without news, a look is taken all the same. */
const IDLE_TIME = 1_000;
/** How long the sinks have, when the server stops, to take what is left. */
const DRAIN_TIME = 3_000;
/** A sink that takes records before they are read is well again when it has not failed for so long. */
const STEADY_TIME = 30_000;

interface ForwarderOptions {
  store: Pick<Store, 'db' | 'commit'>;
  /** Whose chain is fed: this node's. */
  node: string;
  log: StoreLog;
  /** Resolves after so many milliseconds, or as soon as `signal` is aborted. */
  pause?(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Milliseconds of a clock that only goes on. */
  now?(): number;
}

/**
 * Feeds the node's chain to its sinks, each at its own pace from where it stopped. Delivered at
 * least once: a record may come again after a crash or when a connection broke. Nothing waits for a sink, and none loses a
 * record: what it has not taken is in the database.
 */
export interface Forwarder {
  /** Says that there may be new records. */
  wake(): void;
  add(name: string, sink: Sink): void;
  /** Ends the feeding of a sink, before it returns, and forgets its progress once what was under way is over. */
  remove(name: string): Promise<void>;
  names(): string[];
  /** Forgets the progress of sinks that are not there any more. */
  forgetOthers(): Promise<void>;
  /** Opens files anew. */
  reopen(): void;
  /** Lets the sinks take what is left, within a few seconds. */
  close(): Promise<void>;
}

interface ForwardedSink {
  sink: Sink;
  /** Aborted when there may be new records; a new one for each look. */
  news: AbortController;
  stopping: AbortController;
  done: Promise<void>;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const fed = new Map<string, ForwardedSink>();
  const leaving = new Set<Promise<void>>();
  const draining = new AbortController();

  async function leave(name: string, entry: ForwardedSink): Promise<void> {
    entry.stopping.abort();
    await Promise.allSettled([entry.sink.close(), entry.done]);
    await options.store.commit([deleteCursor(name, options.node)]);
  }

  return {
    wake: () => {
      for (const { news } of fed.values()) news.abort();
    },
    add(name, sink) {
      const entry = { sink, news: new AbortController(), stopping: new AbortController() };
      const known: ForwardedSink = Object.assign(entry, { done: Promise.resolve() });
      known.done = feed(options, { name, sink, entry: known, draining: draining.signal });
      fed.set(name, known);
    },
    async remove(name) {
      const entry = fed.get(name);
      if (!entry) return;
      fed.delete(name);
      const left = leave(name, entry);
      leaving.add(left);
      await left.finally(() => leaving.delete(left));
    },
    names: () => [...fed.keys()],
    async forgetOthers() {
      const known = await listCursors(options.store.db, options.node);
      const gone = known.filter((cursor) => !fed.has(cursor.name));
      await options.store.commit(gone.map(({ name }) => deleteCursor(name, options.node)));
    },
    reopen: () => {
      for (const { sink, news } of fed.values()) {
        sink.reopen();
        news.abort();
      }
    },
    async close() {
      draining.abort();
      const all = [...fed.values()];
      const late = new AbortController();
      await Promise.race([
        Promise.allSettled([...all.map((entry) => entry.done), ...leaving]),
        pause(DRAIN_TIME, late.signal),
      ]);
      late.abort();
      for (const { stopping } of all) stopping.abort();
      await Promise.all(all.map((entry) => entry.sink.close().catch(() => {})));
    },
  };
}

interface Feeding {
  name: string;
  sink: Sink;
  entry: Omit<ForwardedSink, 'done'>;
  draining: AbortSignal;
}

/** Feeds one sink until it is stopped, or has all that there is once `draining` is aborted. */
async function feed(
  options: ForwarderOptions,
  { name, sink, entry, draining }: Feeding,
): Promise<void> {
  const pauseFor = options.pause ?? pause;
  const step = createStep(options, { name, sink, stopping: entry.stopping.signal });
  const standing = createStanding(options, { name, sink });
  const ending = AbortSignal.any([entry.stopping.signal, draining]);
  while (!entry.stopping.signal.aborted) {
    entry.news = new AbortController();
    let more = false;
    let failed = false;
    try {
      more = await step.take();
      standing.succeed();
    } catch (error) {
      failed = true;
      if (!entry.stopping.signal.aborted) standing.fail(error);
    }
    if (more) continue;
    if (draining.aborted) {
      // Without it what was read comes again after the start.
      if (!failed) await step.finish().catch(() => {});
      return;
    }
    // News do not make a sink that refused be tried sooner.
    if (failed) await pauseFor(standing.pause(), ending);
    else {
      await pauseFor(IDLE_TIME, AbortSignal.any([entry.news.signal, ending]));
      await pauseFor(GROUP_TIME, ending);
    }
  }
}

/**
 * How a sink stands: what it refuses is said once, until it is well again. One that takes records before they are read
 * seems well after each attempt, also where nobody is.
 */
function createStanding(
  { log, now = () => performance.now() }: ForwarderOptions,
  { name, sink }: { name: string; sink: Sink },
): { succeed(): void; fail(error: unknown): void; pause(): number } {
  const steady_ms = sink.reading ? STEADY_TIME : 0;
  let failures = 0;
  let well_since: number | undefined;
  return {
    succeed() {
      if (failures === 0) return;
      well_since ??= now();
      if (now() - well_since < steady_ms) return;
      failures = 0;
      log.info({ sink: name }, 'an audit sink is fed again');
    },
    fail(error) {
      failures += 1;
      well_since = undefined;
      if (failures > 1) return;
      const why = error instanceof Error ? error.message : String(error);
      log.warn({ sink: name, why }, 'an audit sink takes nothing; records wait for it');
    },
    pause: () => retryPause(failures),
  };
}

/** The steps of feeding a sink from where it stopped. */
function createStep(
  { store, node, log }: ForwarderOptions,
  { name, sink, stopping }: { name: string; sink: Sink; stopping: AbortSignal },
): { take(): Promise<boolean>; finish(): Promise<void> } {
  let taken: number | undefined;
  let saved: number | undefined;
  const save = async (seq: number): Promise<void> => {
    if (saved === seq) return;
    await store.commit([saveCursor({ name, node, seq })]);
    saved = seq;
  };
  /** So far it surely has all: what is kept, so that the rest comes again also after a crash. */
  const sureOf = (seq: number): number =>
    sink.reading ? Math.max(saved ?? 0, sink.reading.sure() ?? 0) : seq;

  async function start(): Promise<number> {
    saved = await findCursor(store.db, { name, node });
    // A new sink gets the whole chain, so that what it holds can be verified.
    const begin = (await readChainStart(store.db, node)).seq;
    const from = sureOf(saved ?? begin);
    if (saved !== undefined && from < begin) {
      log.warn(
        { sink: name, after: from, up_to: begin },
        'records were deleted before an audit sink surely had them',
      );
    }
    // Also for one that never takes any, records are kept.
    await save(Math.max(from, begin));
    return Math.max(from, begin);
  }

  async function put(records: readonly FedRecord[]): Promise<void> {
    try {
      const broken = sink.reading?.findBreak();
      if (broken) throw broken;
      if (records.length > 0) await sink.put(records);
    } catch (error) {
      // What it may not have read is put again.
      if (sink.reading) taken = undefined;
      throw error;
    }
  }

  return {
    /** The next records, if there are any. @returns whether there may be more */
    async take() {
      taken ??= await start();
      const rows = await listRecordsAfter(store.db, { node, seq: taken, limit: BATCH });
      // It may have been removed while they were read.
      stopping.throwIfAborted();
      await put(rows.map((row) => ({ node, ...row })));
      taken = rows.at(-1)?.seq ?? taken;
      await save(sureOf(taken));
      return rows.length > 0;
    },
    async finish() {
      if (taken === undefined) return;
      await sink.reading?.finish();
      await save(sureOf(taken));
    },
  };
}

/** Does not keep the process running by itself. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    timer.unref();
    signal.addEventListener('abort', done);
  });
}
