import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Failure } from './failure.ts';
import { STARTED } from './thread-start.ts';

/** A thread that has had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 30_000;

/** A thread that is ended goes at once, unless something holds it that nobody can break off: that is told after so long. */
const ENDING_MS = 10_000;

/** So long it is waited for a thread that does not say that it has started: no order is to blame, but it may be stuck. */
const STARTING_MS = 60_000;

/** What is asked of a thread, and how its answers are read. */
export interface ThreadWork<Answer, Result> {
  name: string;
  /** URL of the module beside whose `thread` it lies. */
  beside: string;
  data?: unknown;
  log: Pick<Logger, 'warn'>;
  /** What was not done when the thread is ended, e.g. `no certificate was made`. */
  undone: string;
  /**
   * Milliseconds for the order that is first, from when the thread has started (`STARTED`): then the thread is
   * replaced, that order refused, and what is behind it done on the new one, as it is where an order ends the thread.
   * Several times what an order may take on a machine that is busy. Undefined for orders that are not to be begun
   * twice; whoever gives them watches over them.
   */
  deadline_ms: number | undefined;
  /** Memory that it has; by default as much as the program. */
  limits?: ResourceLimits;
  /** @throws Failure as the thread refused; any other Error as it failed */
  read(answer: Answer): Result;
}

interface Waiting<Order, Result> {
  order: Order;
  resolve(result: Result): void;
  reject(reason: Error): void;
}

/** One thread with those who wait for it: started for the first, ended when idle. */
export class OnDemandThread<Order extends object, Answer extends { id: number }, Result> {
  readonly #work: ThreadWork<Answer, Result>;
  /** By number; the first one came first. */
  readonly #waiting = new Map<number, Waiting<Order, Result>>();
  #worker: Worker | undefined;
  #hasStarted = false;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** Who waits for the end of all that was begun. */
  #finishing: PromiseWithResolvers<void> | undefined;

  constructor(work: ThreadWork<Answer, Result>) {
    this.#work = work;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /** Whether it has nothing to do. */
  get isFree(): boolean {
    return this.#waiting.size === 0;
  }

  /** @throws Failure as the thread refuses; `unavailable` when it is ended meanwhile, or the deadline is over */
  run(order: Order): Promise<Result> {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { order, resolve, reject });
      if (this.#waiting.size === 1) this.#watchFirst();
      worker.ref();
      worker.postMessage({ ...order, id });
    });
  }

  /** Tells the thread, if it runs, something that it does not answer. */
  tell(note: object): void {
    this.#worker?.postMessage(note);
  }

  /** Ends the thread as soon as all that it was given is answered. @returns then */
  finish(): Promise<void> {
    if (this.#waiting.size === 0) return this.stop();
    this.#finishing ??= Promise.withResolvers<void>();
    return this.#finishing.promise;
  }

  /** Ends the thread now, and gives up what it was given. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    clearTimeout(this.#deadline);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#giveUp('the server is stopping or sealed');
    if (worker) await this.#end(worker);
  }

  #start(): Worker {
    const { beside, name, data, limits } = this.#work;
    this.#hasStarted = false;
    // Type stripping leaves file names alone, so a built program names the built file.
    const extension = beside.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./thread.${extension}`, beside), {
      name,
      workerData: data,
      ...(limits && { resourceLimits: limits }),
    });
    worker.on('message', (answer: Answer) => {
      if (this.#worker === worker) this.#finish(answer);
    });
    worker.on('error', (error: unknown) => this.#lose(worker, String(error)));
    worker.on('exit', (code) => this.#lose(worker, `exit code ${code}`));
    return worker;
  }

  #finish(answer: Answer): void {
    if (answer.id === STARTED.id) {
      this.#hasStarted = true;
      this.#watchFirst();
      return;
    }
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    const isFirst = this.#first === answer.id;
    this.#waiting.delete(answer.id);
    if (isFirst) this.#watchFirst();
    if (this.#waiting.size === 0) {
      this.#worker?.unref();
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.stop(), IDLE_MS);
      this.#idle.unref();
      if (this.#finishing) void this.stop();
    }
    try {
      waiting.resolve(this.#work.read(answer));
    } catch (error) {
      waiting.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  get #first(): number | undefined {
    const [first] = this.#waiting.keys();
    return first;
  }

  /** Begins the time of what is first by now. */
  #watchFirst(): void {
    clearTimeout(this.#deadline);
    const { deadline_ms } = this.#work;
    if (deadline_ms === undefined || this.#waiting.size === 0) return;
    const most_ms = this.#hasStarted ? deadline_ms : deadline_ms + STARTING_MS;
    this.#deadline = setTimeout(() => this.#replace(), most_ms);
    this.#deadline.unref();
  }

  #replace(): void {
    const held = this.#worker;
    if (held) void this.#end(held);
    this.#goOnWithout('it takes too long');
  }

  /** Refuses what was first, and has a new thread do what is behind it. */
  #goOnWithout(because: string): void {
    this.#worker = undefined;
    const first = this.#first;
    if (first === undefined) return;
    const refusal = new Failure('unavailable', `${this.#work.undone}: ${because}`);
    this.#waiting.get(first)?.reject(refusal);
    this.#waiting.delete(first);
    if (this.#waiting.size === 0) return;
    const worker = this.#start();
    this.#worker = worker;
    for (const [id, { order }] of this.#waiting) worker.postMessage({ ...order, id });
    this.#watchFirst();
  }

  async #end(worker: Worker): Promise<void> {
    const { name, log } = this.#work;
    const late = setTimeout(() => log.warn({ thread: name }, 'a thread does not end'), ENDING_MS);
    late.unref();
    await worker.terminate();
    clearTimeout(late);
  }

  /** The next order gets a new thread. */
  #lose(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#deadline);
    const because = `its thread ended (${why})`;
    if (this.#work.deadline_ms === undefined) {
      this.#worker = undefined;
      this.#giveUp(because);
    } else this.#goOnWithout(because);
  }

  #giveUp(why: string): void {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    const reason = new Failure('unavailable', `${this.#work.undone}: ${why}`);
    for (const { reject } of lost) reject(reason);
    this.#finishing?.resolve();
    this.#finishing = undefined;
  }
}
