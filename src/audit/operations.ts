import type { App } from '../app/app.ts';
import type { AuditTrail, RecordedEnd, RecordsElsewhere } from '../app/audit-trail.ts';
import { Failure } from '../core/failure.ts';
import type { SharedTexts } from '../core/shared-texts.ts';
import type { Store } from '../store/store.ts';
import { concealCut, concealDone, concealSecrets } from './conceal.ts';
import { buildBriefRecord, buildRecord, buildShortRecord, hashText, TOO_OFTEN } from './record.ts';
import { RefusalCounts } from './refusal-counts.ts';
import { UNTOLD } from './told.ts';
import { refusePrivateKey, refuseUntold } from './untold.ts';

/** Notes wait this long at most, in milliseconds, so that many become durable with one sync. */
const GROUP_TIME = 25;
/** After a group that could not be written, it is tried again at the latest, in milliseconds. */
const RETRY_TIME = 1000;
/** A larger group is written at once. */
const GROUP_SIZE = 256;
/** Beyond this many unwritten notes the database is not keeping up, and requests are refused. */
const MAX_WAITING = 65_536;
/**
 * As many characters of them, likewise: one with much to tell has as many as sixty others. Each takes two
 * bytes where not all are Latin.
 */
const MAX_CHARACTERS = 32 << 20;

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

/** Records that wait to be written, many with one sync. None is dropped: what cannot be written waits on. */
class WaitingRecords {
  readonly #options: Pick<TrailOptions, 'store' | 'onError'>;
  #waiting: string[] = [];
  /** Where other threads put theirs. */
  readonly #sources = new Set<SharedTexts>();
  /** Whether they were left there when the others were taken. */
  #isLeft = false;
  /** Of those that wait and those that are being written. */
  #characters = 0;
  /** Of those that gather; who waits for it is answered whenever it is written. */
  #group: PromiseWithResolvers<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failed = 0;
  #retry: NodeJS.Timeout | undefined;
  #recovery: Promise<void> | undefined;

  constructor(options: Pick<TrailOptions, 'store' | 'onError'>) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#waiting.length > MAX_WAITING || this.#characters > MAX_CHARACTERS;
  }

  /** Whether the database does not keep up, or cannot be written. */
  get isStuck(): boolean {
    return this.isFull || this.#failed > 3;
  }

  /** @returns when they are durable */
  add(...records: readonly string[]): Promise<void> {
    this.#take(records);
    return this.#waiting.length >= GROUP_SIZE ? this.#flush() : this.gather();
  }

  /** Writes what there is soon. @returns when that is durable */
  gather(): Promise<void> {
    if (!this.#group) {
      this.#group = Promise.withResolvers<void>();
      this.#timer = setTimeout(() => this.#flush().catch(() => {}), GROUP_TIME);
    }
    return this.#group.promise;
  }

  collect(from: SharedTexts): () => void {
    this.#sources.add(from);
    from.setClosed(this.isStuck);
    return () => {
      this.#sources.delete(from);
      this.add(...from.take()).catch(() => {});
    };
  }

  /** Tries to write what waits, once for everybody who waits for that. */
  recover(): Promise<void> {
    this.#recovery ??= this.#flush()
      .catch(() => {})
      .finally(() => {
        this.#recovery = undefined;
      });
    return this.#recovery;
  }

  async close(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#writing;
    await this.#flush();
  }

  #take(records: readonly string[]): void {
    for (const record of records) {
      this.#waiting.push(record);
      this.#characters += record.length;
    }
  }

  /** While the database does not keep up they stay where they are, and nothing comes to them. */
  #takeElsewhere(): void {
    this.#isLeft = false;
    for (const source of this.#sources) {
      if (this.isFull) this.#isLeft = true;
      else this.#take(source.take());
    }
    this.#tellStuck();
  }

  #tellStuck(): void {
    for (const source of this.#sources) source.setClosed(this.isStuck);
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#takeElsewhere();
    const batch = this.#waiting;
    this.#waiting = [];
    const written = batch.length === 0 ? this.#writing : this.#write(batch);
    this.#group?.resolve(written);
    this.#group = undefined;
    return written;
  }

  #write(batch: readonly string[]): Promise<void> {
    const written = this.#options.store.commit(batch.map((audit) => ({ audit }))).then(
      () => {
        this.#failed = 0;
        for (const record of batch) this.#characters -= record.length;
        this.#tellStuck();
        if (this.#isLeft) this.gather().catch(() => {});
      },
      (error: unknown) => this.#keep(batch, error),
    );
    this.#writing = written.catch(() => {});
    return written;
  }

  /** What could not be written goes before whatever has come since. */
  #keep(batch: readonly string[], error: unknown): never {
    this.#failed += 1;
    this.#waiting = [...batch, ...this.#waiting];
    this.#tellStuck();
    this.#options.onError(error);
    // Whether or not anybody asks for anything meanwhile.
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#flush().catch(() => {});
    }, RETRY_TIME).unref();
    throw error;
  }
}

/** The audit trail of one node; see {@link AuditTrail}. */
export function createTrail(options: TrailOptions): AuditTrail {
  const { hash, now } = options;
  const reads = new Map<string, number>();
  const waiting = new WaitingRecords(options);
  let elsewhere: RecordsElsewhere | undefined;
  /** @returns whether it is another thread's from here on */
  const handOn = (record: string): boolean => {
    if (!elsewhere?.records.put(record)) return false;
    if (elsewhere.records.call()) elsewhere.tell();
    return true;
  };
  const addAnyway = (...records: readonly string[]): void => {
    const own = records.filter((record) => !handOn(record));
    if (own.length > 0) waiting.add(...own).catch(() => {});
  };
  const isStuck = (): boolean => waiting.isStuck || elsewhere?.records.isClosed === true;
  const isFull = (): boolean => waiting.isFull || elsewhere?.records.isClosed === true;
  const recover = async (): Promise<void> => {
    if (waiting.isStuck) await waiting.recover();
    if (elsewhere?.records.isClosed) await elsewhere.recover();
  };
  const refusals = new RefusalCounts(now, (counts) => addAnyway(...counts));
  const withoutTokens = (end: RecordedEnd): RecordedEnd =>
    end.error === undefined ? end : { ...end, error: concealCut(end.error, hash) };
  const concealText = (text: string): string =>
    String(JSON.parse(concealSecrets(JSON.stringify(text), hash)));

  return {
    entryOf: (caller) => {
      refuseUntold(caller.record);
      const record = buildRecord(caller, now(), { status: 'done' });
      // Which field has it is looked for only then: a text may be long.
      return { audit: concealDone(record, hash, () => refusePrivateKey(caller.record)) };
    },
    async note(caller, end) {
      if (isStuck()) await recover();
      if (isStuck()) {
        throw new Failure('unavailable', 'audit records cannot be written at present');
      }
      const record = buildBriefRecord(caller, now(), withoutTokens(end));
      const told = concealSecrets(record, hash);
      if (!options.wait_for_reads && handOn(told)) return;
      const durable = waiting.add(told);
      // One that this thread keeps would end with it.
      if (options.wait_for_reads || elsewhere) await durable;
      else durable.catch(() => {});
    },
    refuse(request, end) {
      const at = now();
      if (!refusals.take(request, at, !isFull())) return;
      const record = buildShortRecord(request, at, withoutTokens(end), concealText);
      addAnyway(concealSecrets(record, hash));
    },
    refuseTooMany(request) {
      if (!refusals.takeTooMany(request, now(), !isFull())) return;
      const end = { status: 'refused', error: TOO_OFTEN } as const;
      addAnyway(concealSecrets(buildShortRecord(request, now(), end, concealText), hash));
    },
    keep(request, end) {
      addAnyway(concealSecrets(buildRecord(request, now(), withoutTokens(end)), hash));
    },
    count(route) {
      reads.set(route, (reads.get(route) ?? 0) + 1);
    },
    counts: () => reads,
    handOn(to) {
      elsewhere = to;
    },
    collect: (from) => waiting.collect(from),
    expect() {
      waiting.gather().catch(() => {});
    },
    recover: () => waiting.recover(),
    async close() {
      refusals.drain();
      await waiting.close();
    },
  };
}
