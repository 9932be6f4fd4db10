import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import type { WorkerCredentials } from '../carrying/worker-credentials.ts';
import type { Call, Carried, Cut } from '../upstream.ts';
import type { Brought, Errand } from '../wire/hop.ts';
import { batched } from './batched.ts';
import type { FromThread, ToThread } from './messages.ts';

/** What a thread carries that does not say it within this is not known: it may only be busy. */
const ANSWER_MS = 5_000;

/** A thread that is sent somewhere has so long to come back. */
const ERRAND_MS = 25_000;

/** An address that cannot be had is tried again after this. */
const AGAIN_MS = 1_000;

/** Answers what the thread asks. @throws Failure to refuse it */
export type Answering = (call: Call) => Promise<unknown>;

/**
 * The thread that carries a server's sessions. It listens as long as the server runs; one that
 * dies is replaced, and what it carried is lost.
 */
export class CarryingThread {
  readonly #answer: Answering;
  readonly #onDeath: (why: string) => Promise<unknown>;
  readonly #reports = new Map<number, (carried: Carried | undefined) => void>();
  readonly #errands = new Map<number, PromiseWithResolvers<Brought>>();
  readonly #says = new WeakMap<Worker, (message: ToThread) => void>();
  #credentials: WorkerCredentials | undefined;
  #worker: Worker | undefined;
  #at: { host: string; port: number };
  #next = 0;
  #isClosing = false;

  /**
   * @param onDeath called when the thread has ended although nobody closed it; another one
   *   takes its place afterwards. Never fails
   */
  constructor(
    at: { host: string; port: number },
    { answer, onDeath }: { answer: Answering; onDeath: (why: string) => Promise<unknown> },
  ) {
    this.#at = at;
    this.#answer = answer;
    this.#onDeath = onDeath;
  }

  /** Where it listens, with the port that was given when the configured one is 0. */
  get address(): { host: string; port: number } {
    return this.#at;
  }

  /** @throws Error with a `code` when the address cannot be had */
  async listen(): Promise<void> {
    const { host, port } = this.#at;
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      name: 'carrier',
    });
    this.#worker = worker;
    const listening = Promise.withResolvers<void>();
    const hear = (message: FromThread): void => {
      if (message.type === 'listening') {
        this.#at = { host, port: message.port };
        listening.resolve();
      } else if (message.type === 'failed') {
        const { code, port: wanted } = message;
        const error = new Error(`proxy_listener: ${message.message}`);
        // As the system said it: whoever started the server is told which listener it is.
        listening.reject(Object.assign(error, { code, port: wanted, syscall: 'listen' }));
      } else this.#hear(worker, message);
    };
    worker.on('message', (messages: readonly FromThread[]) => {
      for (const message of messages) hear(message);
    });
    let fault: Error | undefined;
    worker.on('error', (error: unknown) => {
      fault = asError(error);
      listening.reject(fault);
    });
    worker.on('exit', (code) => {
      listening.reject(new Error(`exit code ${code}`));
      // Where it failed, too: nothing else tells of it.
      void this.#lose(worker, fault?.stack ?? `exit code ${code}`);
    });
    this.#send(worker, { type: 'listen', host, port });
    try {
      await listening.promise;
    } catch (error) {
      this.#worker = undefined;
      await worker.terminate();
      throw error;
    }
    worker.unref();
    if (this.#credentials) this.prove(this.#credentials);
  }

  /** What it proves itself by towards other workers. */
  prove(credentials: WorkerCredentials): void {
    this.#credentials = credentials;
    this.#tell({ type: 'prove', credentials });
  }

  /** Has it bring a connection to another worker. @throws Failure `unresolved` */
  async bring(errand: Errand): Promise<Brought> {
    const id = this.#next++;
    const answer = Promise.withResolvers<Brought>();
    this.#errands.set(id, answer);
    const timer = setTimeout(() => answer.reject(lost()), ERRAND_MS);
    timer.unref();
    try {
      if (!this.#worker) throw lost();
      this.#tell({ type: 'bring', id, errand });
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      this.#errands.delete(id);
    }
  }

  async isThere(): Promise<boolean> {
    return this.#worker !== undefined;
  }

  /** @param connection_ids what is to be ended besides, one by one */
  cut(cuts: readonly Cut[], connection_ids: readonly string[] = []): void {
    if (cuts.length + connection_ids.length > 0) this.#tell({ type: 'cut', cuts, connection_ids });
  }

  cutAll(): void {
    this.#tell({ type: 'cut all' });
  }

  /**
   * All that it carries.
   *
   * @returns undefined when it does not answer: nobody knows then. A thread that has died carries nothing
   */
  carried(): Promise<Carried | undefined> {
    const worker = this.#worker;
    if (!worker) return Promise.resolve(NOTHING);
    const id = this.#next++;
    return new Promise((resolve) => {
      const done = (carried: Carried | undefined): void => {
        clearTimeout(timer);
        this.#reports.delete(id);
        resolve(carried);
      };
      const timer = setTimeout(() => done(undefined), ANSWER_MS);
      timer.unref();
      this.#reports.set(id, done);
      this.#send(worker, { type: 'report', id });
    });
  }

  /** Ends what it carries, has that told, and lets go of the address. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const worker = this.#worker;
    if (!worker) return;
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    this.#send(worker, { type: 'close' });
    const timer = setTimeout(() => void worker.terminate(), ANSWER_MS);
    await gone;
    clearTimeout(timer);
    this.#worker = undefined;
  }

  #hear(worker: Worker, message: FromThread): void {
    if (message.type === 'call') void this.#serve(worker, message);
    else if (message.type === 'carried') this.#reports.get(message.id)?.(message.carried);
    else if (message.type === 'brought') {
      const { endpoint_tcp_address, endpoint_tcp_port } = message;
      this.#errands.get(message.id)?.resolve({ endpoint_tcp_address, endpoint_tcp_port });
    } else if (message.type === 'not brought') {
      this.#errands.get(message.id)?.reject(new Failure('unresolved', message.why));
    }
  }

  async #serve(worker: Worker, { id, ...call }: { id: number } & Call): Promise<void> {
    try {
      const answer = await this.#answer(call);
      this.#send(worker, { type: 'answered', id, answer });
    } catch (error) {
      const known = error instanceof Failure ? error : undefined;
      const kind = known?.kind ?? 'unavailable';
      const message = known?.message ?? 'the server could not answer';
      this.#send(worker, { type: 'refused', id, kind, message });
    }
  }

  /** Another one listens where it did. */
  async #lose(worker: Worker, why: string): Promise<void> {
    if (this.#isClosing || this.#worker !== worker) return;
    this.#worker = undefined;
    for (const done of this.#reports.values()) done(NOTHING);
    for (const { reject } of this.#errands.values()) reject(lost());
    await this.#onDeath(why);
    while (!this.#isClosing && !this.#worker) {
      await this.listen().catch(() => wait(AGAIN_MS, undefined, { ref: false }));
    }
  }

  #tell(message: ToThread): void {
    if (this.#worker) this.#send(this.#worker, message);
  }

  #send(worker: Worker, message: ToThread): void {
    let say = this.#says.get(worker);
    if (!say) {
      say = batched<ToThread>((messages) => worker.postMessage(messages));
      this.#says.set(worker, say);
    }
    say(message);
  }
}

const NOTHING: Carried = { open: [], brought: [] };

const lost = (): Failure => new Failure('unresolved', 'the worker does not answer');

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));
