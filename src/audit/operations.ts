import type { App } from '../app.ts';
import { Failure } from '../core/failure.ts';
import type { Store } from '../store/store.ts';
import { concealCut, concealDone, concealSecrets } from './conceal.ts';
import {
  buildBriefRecord,
  buildCountRecord,
  buildRecord,
  buildStrangerRecord,
  hashText,
  type RecordedEnd,
  type RecordedRequest,
} from './record.ts';
import { type RefusalKind, RefusalTally } from './refusal-tally.ts';
import { UNTOLD } from './told.ts';
import type { AuditTrail } from './trail.ts';
import { refusePrivateKey, refuseUntold } from './untold.ts';

/** Notes wait this long at most, in milliseconds, so that many become durable with one sync. */
const GROUP_TIME = 25;
/** After a group that could not be written, it is tried again at the latest, in milliseconds. */
const RETRY_TIME = 1000;
/** A larger group is written at once. */
const GROUP_SIZE = 256;
/** Beyond this many unwritten notes the database is not keeping up, and requests are refused. */
const MAX_WAITING = 65_536;
/** As many characters of them, likewise: one with much to tell has as much as sixty others. */
const MAX_CHARACTERS = 64 << 20;

/** Counts of refused strangers are recorded this often, in milliseconds. */
const COUNT_TIME = 10_000;

/**
 * How a secret stands in records, so that who has it finds them; sealed, nothing can be hashed.
 */
export function hashSecret({ barrier }: Pick<App, 'barrier'>, text: string): string {
  return barrier.sealed ? UNTOLD : hashText(barrier.hmac('token', `token:${text}`));
}

interface TrailOptions {
  store: Store;
  /** As {@link hashSecret}. */
  hash(secret: string): string;
  now(): number;
  /** Answer a read only after its record is durable. */
  wait_for_reads: boolean;
  onError(error: unknown): void;
}

/** What unseals, seals, or makes keys and root tokens by shares. */
const OF_SEAL = /^sys\/(?:init|seal|unseal|rekey|rekey-recovery-key|generate-root)(?:\/[^/]+)?$/;

function kindOf({ record, unknown_token }: RecordedRequest): RefusalKind {
  const isRead = record.operation === 'read' || record.operation === 'list';
  if (!isRead && OF_SEAL.test(record.path)) return 'seal';
  return unknown_token ? 'unknown_token' : 'other';
}

/** The audit trail of one node; see {@link AuditTrail}. */
export function createTrail(options: TrailOptions): AuditTrail {
  const counts = new Map<string, number>();
  let waiting: string[] = [];
  /** Of those that wait and those that are being written. */
  let characters = 0;
  /** Of those that gather; who waits for it is answered whenever it is written. */
  let group: PromiseWithResolvers<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let failed = 0;
  let retry: NodeJS.Timeout | undefined;
  let recovery: Promise<void> | undefined;
  const tally = new RefusalTally();
  let tallying: { since: number; timer: NodeJS.Timeout } | undefined;

  function hold(record: string): void {
    waiting.push(record);
    characters += record.length;
  }

  const withoutTokens = (end: RecordedEnd): RecordedEnd =>
    end.error === undefined ? end : { ...end, error: concealCut(end.error, options.hash) };

  function letGo(records: readonly string[]): void {
    for (const record of records) characters -= record.length;
  }

  const isFull = (): boolean => waiting.length > MAX_WAITING || characters > MAX_CHARACTERS;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    const written = batch.length === 0 ? writing : write(batch);
    group?.resolve(written);
    group = undefined;
    return written;
  }

  function write(batch: readonly string[]): Promise<void> {
    const written = options.store
      .commit(batch.map((audit) => ({ audit })))
      .then(() => {
        failed = 0;
        letGo(batch);
      })
      .catch((error: unknown) => {
        // Nothing is dropped: the batch goes before whatever has come since.
        failed++;
        waiting = [...batch, ...waiting];
        options.onError(error);
        // Whether or not anybody asks for anything meanwhile.
        retry ??= setTimeout(() => {
          retry = undefined;
          flush().catch(() => {});
        }, RETRY_TIME).unref();
        throw error;
      });
    writing = written.catch(() => {});
    return written;
  }

  function isStuck(): boolean {
    return isFull() || failed > 3;
  }

  /** Tries to write what waits, once for everybody who waits for that. */
  function recover(): Promise<void> {
    recovery ??= flush()
      .catch(() => {})
      .finally(() => {
        recovery = undefined;
      });
    return recovery;
  }

  function schedule(): Promise<void> {
    if (waiting.length >= GROUP_SIZE) return flush();
    if (!group) {
      group = Promise.withResolvers<void>();
      timer = setTimeout(() => flush().catch(() => {}), GROUP_TIME);
    }
    return group.promise;
  }

  function recordCounts(): void {
    if (!tallying) return;
    clearTimeout(tallying.timer);
    const { since } = tallying;
    tallying = undefined;
    const now = options.now();
    for (const count of tally.drain()) hold(buildCountRecord(count, since, now));
    schedule().catch(() => {});
  }

  return {
    entryOf: (caller) => {
      refuseUntold(caller.record);
      const record = buildRecord(caller, options.now(), { status: 'done' });
      // Which field has it is looked for only then: a text may be long.
      const onPrivateKey = () => refusePrivateKey(caller.record);
      return { audit: concealDone(record, options.hash, onPrivateKey) };
    },
    async note(caller, end) {
      if (isStuck()) await recover();
      if (isStuck()) {
        throw new Failure('unavailable', 'audit records cannot be written at present');
      }
      const record = buildBriefRecord(caller, options.now(), withoutTokens(end));
      hold(concealSecrets(record, options.hash));
      const durable = schedule();
      if (options.wait_for_reads) await durable;
      else durable.catch(() => {});
    },
    refuse(request, end) {
      const now = options.now();
      const isRoom = !isFull();
      const { remote_address, route } = request.record;
      if (tally.take(now, { remote_address, kind: kindOf(request), route }, isRoom)) {
        const record = buildStrangerRecord(request, now, withoutTokens(end), (text) =>
          String(JSON.parse(concealSecrets(JSON.stringify(text), options.hash))),
        );
        hold(concealSecrets(record, options.hash));
        schedule().catch(() => {});
      } else if (!tallying) {
        tallying = { since: now, timer: setTimeout(recordCounts, COUNT_TIME) };
        tallying.timer.unref();
      }
    },
    keep(request, end) {
      const record = buildRecord(request, options.now(), withoutTokens(end));
      hold(concealSecrets(record, options.hash));
      schedule().catch(() => {});
    },
    count(route) {
      counts.set(route, (counts.get(route) ?? 0) + 1);
    },
    counts: () => counts,
    async close() {
      recordCounts();
      clearTimeout(retry);
      await writing;
      await flush();
    },
  };
}
