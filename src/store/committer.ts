import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { Failure } from '../core/failure.ts';
import { whoAsks } from '../core/fairness/asking.ts';
import { GoingOn } from '../core/fairness/going-on.ts';
import type {
  BatchResult,
  CommitterOptions,
  FromCommitter,
  LogDetail,
  Refusal,
  ToCommitter,
} from './batch.ts';
import { BatchSize } from './batch-size.ts';
import { BatchPacker } from './packing.ts';
import { askingOf, refuseForRoom, type WaitingSet, WaitingSets } from './waiting-sets.ts';
import { type Effect, isAuditEntry, isPortable, refuseUnportable, weigh } from './write.ts';
import type { WriteCounts } from './write-counts.ts';
import { WriteListeners } from './write-listeners.ts';

/** Where the store says what went wrong; pino's logger is one. */
export interface StoreLog {
  info(detail: LogDetail, message: string): void;
  warn(detail: LogDetail, message: string): void;
  error(detail: LogDetail, message: string): void;
}

type Options<All> = All extends unknown ? Omit<All, 'counts'> : never;

interface CommitterStart {
  options: Options<CommitterOptions>;
  log: StoreLog;
  /** Raised by the thread before the sets that it has written resolve, whoever sent them. */
  counts: WriteCounts;
  /** The module of the thread, when it is not `committer-thread.ts`. */
  entry?: URL;
}

export interface CommitterStats {
  /** Sets that wait for the batch in flight. */
  waiting: number;
  in_flight: number;
  batches: number;
  sets: number;
  refused: number;
  largest_batch: number;
  /** False once the committer thread has ended: nothing can be written any more. */
  alive: boolean;
}

/** Bytes of one transaction. */
const BATCH_BYTES = 16 << 20;

/**
 * The side of the committer that the program talks to. While one batch is being made
 * durable, everything that comes in waits together and becomes the next batch.
 */
export class Committer {
  /** The thread, or the way to it. */
  readonly #thread: Worker | MessagePort;
  readonly #packer = new BatchPacker();
  readonly #log: StoreLog;
  /** Told of what is written before it resolves. */
  readonly written: WriteListeners;
  readonly #waiting = new WaitingSets();
  /** Those whose sets are done: a batch has hundreds of them. */
  readonly #goingOn = new GoingOn();
  #inFlight: WaitingSet[] = [];
  /** When the batch in flight was sent. */
  #sent = 0;
  readonly #size = new BatchSize();
  #scheduled = false;
  #closing = false;
  #death: Failure | undefined;
  #deathListeners: ((death: Failure) => void)[] = [];
  readonly #othersListeners = new Set<() => void>();
  #idleListeners: (() => void)[] = [];
  #batches = 0;
  #sets = 0;
  #refused = 0;
  #largest = 0;

  private constructor(thread: Worker | MessagePort, log: StoreLog, counts: WriteCounts) {
    this.#thread = thread;
    this.#log = log;
    this.written = new WriteListeners(counts);
  }

  /**
   * Starts the thread and waits until it can write.
   *
   * @throws Failure `unavailable` when the database cannot be opened
   */
  static async start({ log, counts, ...start }: CommitterStart): Promise<Committer> {
    const worker = new Worker(start.entry ?? threadEntry(), {
      workerData: { ...start.options, counts: counts.shared },
      name: 'committer',
    });
    const committer = new Committer(worker, log, counts);
    await committer.#opened(worker);
    // The thread keeps the process running only while there is something to write.
    worker.unref();
    return committer;
  }

  /** On another thread: writes by a port that {@link connect} made. */
  static join(port: MessagePort, log: StoreLog, counts: WriteCounts): Committer {
    const committer = new Committer(port, log, counts);
    port.on('message', (message: FromCommitter) => {
      if (message.type === 'done') committer.#finish(message.result);
    });
    port.on('close', () => {
      if (!committer.#closing) committer.#die('its port was closed');
    });
    port.unref();
    return committer;
  }

  /** Lets another thread write by the port, which is to be handed to it. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#thread.postMessage({ type: 'join', port: port1 } satisfies ToCommitter, [port1]);
    return port2;
  }

  /** See `Store.commit`. Bytes in the set must stay as they are until it resolves. */
  commit(effects: readonly Effect[]): Promise<void> {
    if (effects.length === 0) return Promise.resolve();
    if (this.#death !== undefined) return Promise.reject(this.#death);
    if (this.#closing) {
      return Promise.reject(new Failure('unavailable', 'the server is stopping'));
    }
    const asking = askingOf(effects, whoAsks());
    if (!this.#waiting.hasRoom(asking)) {
      return Promise.reject(refuseForRoom());
    }
    return new Promise((resolve, reject) => {
      if (!effects.every((effect) => isAuditEntry(effect) || isPortable(effect.parameters))) {
        throw refuseUnportable();
      }
      const bytes = weigh(effects);
      this.#waiting.add({ effects, bytes, asking, resolve, reject });
      this.#schedule();
    });
  }

  /** Called once, when the thread ends although nobody closed it; the process should end too. */
  onDeath(listener: (death: Failure) => void): void {
    if (this.#death !== undefined) listener(this.#death);
    else this.#deathListeners.push(listener);
  }

  /** Calls back some time after another thread has written. */
  onOthers(listener: () => void): void {
    this.#othersListeners.add(listener);
  }

  stats(): CommitterStats {
    return {
      waiting: this.#waiting.count,
      in_flight: this.#inFlight.length,
      batches: this.#batches,
      sets: this.#sets,
      refused: this.#refused,
      largest_batch: this.#largest,
      alive: this.#death === undefined,
    };
  }

  /** Lets everything that waits be written, then ends the thread. */
  async close(): Promise<void> {
    if (this.#closing || this.#death !== undefined) return;
    this.#closing = true;
    if (this.#isBusy || !this.#goingOn.isEmpty) {
      await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
    }
    const thread = this.#thread;
    thread.ref();
    const event = thread instanceof Worker ? 'exit' : 'close';
    const ended = new Promise<void>((resolve) => thread.once(event, () => resolve()));
    if (thread instanceof Worker) this.#send({ type: 'close' });
    else thread.close();
    await ended;
  }

  #opened(worker: Worker): Promise<void> {
    return new Promise((resolve, reject) => {
      this.onDeath(reject);
      worker.on('message', (message: FromCommitter) => {
        if (message.type === 'ready') {
          this.#deathListeners = [];
          resolve();
        } else if (message.type === 'refused') {
          this.#deathListeners = [];
          this.#closing = true;
          reject(new Failure('unavailable', message.message));
        } else if (message.type === 'done') {
          this.#finish(message.result);
        } else if (message.type === 'others wrote') {
          this.#send({ type: 'looked' });
          this.written.catchUp();
          for (const listener of this.#othersListeners) listener();
        } else {
          this.#log[message.level](message.detail, message.message);
        }
      });
      worker.on('error', (error: unknown) => this.#die(String(error)));
      worker.on('exit', (code) => {
        // Nothing waits any more when a close was asked for.
        if (!this.#closing || this.#inFlight.length > 0) this.#die(`exit code ${code}`);
      });
    });
  }

  /** After this turn of the event loop, so that requests answered in one turn go together. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight.length > 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    if (this.#death !== undefined || this.#inFlight.length > 0) return;
    this.#inFlight = this.#waiting.take({ effects: this.#size.statements, bytes: BATCH_BYTES });
    if (this.#inFlight.length === 0) return;
    this.#sent = performance.now();
    this.#thread.ref();
    const packed = this.#packer.pack(this.#inFlight.map((set) => set.effects));
    this.#send({ type: 'batch', packed }, [packed.bytes.buffer]);
  }

  #send(message: ToCommitter, moved: ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, moved);
  }

  #finish(result: BatchResult): void {
    const reached = this.#inFlight.length - (result.left ?? 0);
    const finished = this.#inFlight.slice(0, reached);
    // What took long has kept others waiting long enough: the rest has its turn among theirs.
    this.#waiting.putBack(this.#inFlight.slice(reached));
    this.#inFlight = [];
    // Where the batch itself ends in time its length is right.
    if (result.left === undefined) {
      const statements = finished.reduce((sum, { effects }) => sum + effects.length, 0);
      this.#size.note(performance.now() - this.#sent, { sets: reached, statements });
    }
    this.#batches += 1;
    this.#sets += finished.length;
    this.#largest = Math.max(this.#largest, finished.length);
    this.#thread.unref();
    this.written.catchUp();
    finished.forEach((set, index) => {
      const outcome = result.outcomes[index];
      if (outcome === null) {
        this.#goingOn.add(() => set.resolve());
      } else {
        this.#refused += 1;
        this.#goingOn.add(() => set.reject(errorOf(outcome)));
      }
    });
    if (this.#waiting.count > 0) this.#schedule();
    else this.#goingOn.add(() => this.#tellIdle());
  }

  get #isBusy(): boolean {
    return this.#inFlight.length > 0 || this.#waiting.count > 0;
  }

  #tellIdle(): void {
    if (this.#isBusy) return;
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  #die(why: string): void {
    if (this.#death !== undefined) return;
    const death = new Failure('unavailable', 'the server cannot write any more');
    this.#death = death;
    this.#log.error({ why }, 'the committer has ended: nothing can be written');
    const lost = [...this.#inFlight, ...this.#waiting.clear()];
    this.#inFlight = [];
    for (const set of lost) set.reject(death);
    for (const listener of this.#idleListeners.splice(0)) listener();
    for (const listener of this.#deathListeners.splice(0)) listener(death);
  }
}

/** Type stripping leaves file names alone, so a built program names the built file. */
function threadEntry(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./committer-thread.${extension}`, import.meta.url);
}

function errorOf(refusal: Refusal | undefined): Error {
  if (refusal === undefined) return new Error('the committer gave no outcome for a write set');
  if (refusal.kind === 'bug') return new Error(`a statement failed: ${refusal.message}`);
  return new Failure(refusal.kind, refusal.message);
}
