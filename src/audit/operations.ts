import { Failure } from '../core/failure.ts';
import type { Store } from '../store/store.ts';
import { buildRecord } from './record.ts';
import type { AuditTrail } from './trail.ts';

/** Notes wait this long at most, in milliseconds, so that many become durable with one sync. */
const GROUP_TIME = 25;
/** A larger group is written at once. */
const GROUP_SIZE = 256;
/** Beyond this many unwritten notes the database is not keeping up, and requests are refused. */
const MAX_WAITING = 65_536;

interface TrailOptions {
  store: Store;
  now(): number;
  /** Answer a read only after its record is durable. */
  wait_for_reads: boolean;
  onError(error: unknown): void;
}

/** The audit trail of one node; see {@link AuditTrail}. */
export function createTrail(options: TrailOptions): AuditTrail {
  const counts = new Map<string, number>();
  let waiting: string[] = [];
  let group: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let failed = 0;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    group = undefined;
    const batch = waiting;
    if (batch.length === 0) return writing;
    waiting = [];
    const written = options.store
      .commit(batch.map((audit) => ({ audit })))
      .then(() => {
        failed = 0;
      })
      .catch((error: unknown) => {
        // Nothing is dropped: the batch goes before whatever has come since.
        failed++;
        waiting = [...batch, ...waiting];
        options.onError(error);
        throw error;
      });
    writing = written.catch(() => {});
    return written;
  }

  function schedule(): Promise<void> {
    if (waiting.length >= GROUP_SIZE) return flush();
    group ??= new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => flush().then(resolve, reject), GROUP_TIME);
    });
    return group;
  }

  return {
    entryOf: (caller) => ({ audit: buildRecord(caller, options.now(), { status: 'done' }) }),
    async note(caller, end) {
      if (waiting.length > MAX_WAITING || failed > 3) {
        schedule().catch(() => {});
        throw new Failure('unavailable', 'audit records cannot be written at present');
      }
      waiting.push(buildRecord(caller, options.now(), end));
      const durable = schedule();
      if (options.wait_for_reads) await durable;
      else durable.catch(() => {});
    },
    count(route) {
      counts.set(route, (counts.get(route) ?? 0) + 1);
    },
    counts: () => counts,
    async close() {
      await writing;
      await flush();
    },
  };
}
