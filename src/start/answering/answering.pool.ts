import { Worker } from 'node:worker_threads';
import type { App } from '../../app/app.ts';
import { doForOthers, hearFromOthers, noteEnd, oneForAll } from '../../app/one-for-all.ts';
import { collectRecords } from '../../audit/handing-on.operations.ts';
import { memoryOf } from '../../barrier/keyring.ts';
import type { Config } from '../../config/config.ts';
import { Failure } from '../../core/failure.ts';
import { SharedBytes } from '../../core/fairness/shared-bytes.ts';
import { SharedTexts } from '../../core/shared-texts.ts';
import { requireFreePlaces } from '../../http/doors.ts';
import { readTls, type TlsFiles } from '../../http/node-server.ts';
import { type Measured, otherMeters } from '../../metrics/meters.operations.ts';
import { Deaths } from './deaths.ts';
import { Dialogue } from './dialogue.ts';
import { Forwarded, type Handlers } from './forwarding.ts';
import { AllMeters } from './measuring.ts';
import type { AnsweringOptions, Asked, Said } from './messages.ts';
import { shareOfThread } from './share.ts';
import { isDoneWithin, within } from './within.ts';

/** Bytes that are made of the bodies of requests that are handed on. */
const BODY_BYTES = { total: 64 << 20, each: 32 << 20 };
/** A thread that does not let go of its keys within this is ended. */
const SEAL_MS = 2_000;
/** One that does not take new ones within this is ended, too: whoever has rotated them waits for it. */
const KEYS_MS = 10_000;
const TOO_MANY = 'threads that answer die one after the other';
const REPLACED = 'a thread that answers has ended: what it was answering is lost';
/** A thread that does not stop within this is ended. */
const STOP_MS = 35_000;

type Listening = Extract<Said, { type: 'listening' }>;

interface Answering {
  place: number;
  worker: Worker;
  dialogue: Dialogue;
  forwarded: Forwarded;
  listens: boolean;
  /** Whether it was ended for what it did not do in time, and did not die. */
  is_ended: boolean;
  /** What it has measured, as it was told last. */
  measured: Measured | undefined;
  /** Has the last of its audit records written. */
  takeLast: () => void;
}

const BEGUN = { listens: false, is_ended: false, measured: undefined };

/** The threads that answer, and what each of them is told. */
export class AnsweringThreads {
  readonly #app: App;
  readonly #handlers: Handlers;
  readonly #bodies = new SharedBytes(BODY_BYTES);
  readonly #threads = new Set<Answering>();
  /** Answers that are being made, also for threads that have died meanwhile. */
  readonly #works = new Set<Promise<unknown>>();
  #config: Config;
  #tls: TlsFiles | undefined;
  readonly #meters = new AllMeters();
  readonly #deaths = new Deaths();
  #isStopping = false;
  readonly #death = Promise.withResolvers<Failure>();

  /**
   * @param handlers find who answers what is answered in one place
   * @throws Error where the files of TLS are none
   */
  constructor(app: App, handlers: Handlers) {
    this.#app = app;
    this.#config = shareOfThread(app.config);
    this.#tls = app.config.tls && readTls(app.config.tls);
    this.#handlers = handlers;
    oneForAll(app).tellAll = (name, told) => {
      for (const { dialogue } of this.#threads) dialogue.say({ type: 'tell', name, told });
    };
    otherMeters(app).ask = () => this.#meters.read(this.#threads);
    app.barrier.onUnseal(() => this.#handOutKeys());
    app.barrier.onReload(() => this.#handOutKeys());
    app.barrier.onSeal(() => this.#seal());
  }

  /** Calls back when threads have died one after the other, also before this was asked; the process should end. */
  onDeath(listener: (death: Failure) => void): void {
    void this.#death.promise.then(listener);
  }

  /**
   * Starts the threads, which listen on the same ports.
   *
   * @returns where, with the ports that were given where the configured ones are 0
   * @throws Error with a `code` when an address cannot be had
   */
  async start(count: number): Promise<Listening> {
    const { public_listener } = this.#config;
    // Threads find each other there, and so do not look.
    for (const one of [this.#config, public_listener]) if (one) await requireFreePlaces(one.listen);
    const first = await this.#start();
    const { address, public_address } = first;
    this.#config = {
      ...this.#config,
      listen: { ...this.#config.listen, port: address.port },
      public_listener: public_listener && {
        ...public_listener,
        listen: { ...public_listener.listen, port: public_address?.port ?? 0 },
      },
    };
    await Promise.all(Array.from({ length: count - 1 }, () => this.#start()));
    return first;
  }

  /** One that starts later has the same, whatever the files are by then. @throws Error where they are none */
  reloadTls(): void {
    const { tls } = this.#config;
    if (!tls) return;
    this.#tls = readTls(tls);
    for (const { dialogue } of this.#threads) dialogue.say({ type: 'tls', files: this.#tls });
  }

  /** Has them write the audit records that wait for more of them. For tests. */
  async writeRecords(): Promise<void> {
    const asked: Asked = { type: 'write records' };
    await Promise.all([...this.#threads].map(({ dialogue }) => dialogue.ask(asked)));
  }

  /** Ends one of them, as if it had died. For tests. @returns false where there is none */
  async kill(): Promise<boolean> {
    const [thread] = this.#threads;
    await thread?.worker.terminate();
    return thread !== undefined;
  }

  /** How many listen. */
  get count(): number {
    return [...this.#threads].filter(({ listens }) => listens).length;
  }

  /** Has them finish what is under way, and ends them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(
      [...this.#threads].map(async ({ worker, dialogue }) => {
        const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        await within(STOP_MS, dialogue.ask({ type: 'stop' })).catch(() => {});
        const timer = setTimeout(() => void worker.terminate(), SEAL_MS);
        await ended;
        clearTimeout(timer);
      }),
    );
    await within(STOP_MS, Promise.allSettled(this.#works)).catch(() => {});
  }

  async #start(): Promise<Listening> {
    for (;;) {
      const { thread, begun } = this.#startOne();
      try {
        return await begun;
      } catch (error) {
        if (!thread.is_ended || this.#isStopping) throw error;
      }
    }
  }

  #startOne() {
    const place = this.#freePlace();
    const records = new SharedTexts();
    const worker = this.#open(place, records);
    const listening = Promise.withResolvers<Listening>();
    const dialogue = new Dialogue(worker, {
      answer: (asked) => this.#answer(forwarded, asked),
      hear: (said) => {
        if (said.type === 'listening') {
          thread.listens = true;
          listening.resolve(said);
        } else if (said.type === 'gone') forwarded.gone(said.request);
        else if (said.type === 'let go') forwarded.letGo(said.request);
        else if (said.type === 'tell') hearFromOthers(this.#app, said.name, said.told);
      },
    });
    const forwarded = new Forwarded(dialogue, this.#handlers, this.#bodies);
    const takeLast = collectRecords(this.#app, records);
    const thread: Answering = { place, worker, dialogue, forwarded, takeLast, ...BEGUN };
    this.#threads.add(thread);
    let fault: Error | undefined;
    worker.on('error', (error: unknown) => {
      fault = error instanceof Error ? error : new Error(String(error));
      if (thread.listens) this.#app.log.error({ err: error }, 'a thread that answers has failed');
    });
    worker.on('exit', (code) => {
      this.#lose(thread);
      // Not before: the next one would have no place.
      listening.reject(fault ?? new Error(`exit code ${code}`));
    });
    return { thread, begun: listening.promise };
  }

  /** That of one that has ended is the next one's. */
  #freePlace(): number {
    const taken = new Set([...this.#threads].map((one) => one.place));
    let place = 1;
    while (taken.has(place)) place += 1;
    return place;
  }

  #open(place: number, { shared: records }: SharedTexts): Worker {
    const store = this.#app.store.share();
    const keys = this.#app.barrier.handOver();
    const config = this.#config;
    const options: AnsweringOptions = { place, config, store, keys, tls: this.#tls, records };
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    return new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      name: 'answering',
      workerData: options,
      transferList: [store.port, ...(keys ? memoryOf(keys.keyring) : [])],
    });
  }

  #answer(forwarded: Forwarded, asked: Asked): unknown {
    switch (asked.type) {
      case 'request':
        return this.#note(forwarded.answer(asked.request, asked.head));
      case 'piece':
        return forwarded.piece(asked.request);
      case 'do':
        return doForOthers(this.#app, asked.name, asked.argument);
      case 'confirm config':
        return this.#app.store.configVersion();
      case 'refresh config':
        return this.#app.store.refreshConfig();
      default:
        throw new Failure('unsupported', `a supervisor is not asked for ${asked.type}`);
    }
  }

  #note<Answer>(work: Promise<Answer>): Promise<Answer> {
    this.#works.add(work);
    const end = (): boolean => this.#works.delete(work);
    work.then(end, end);
    return work;
  }

  /** Resolves when all have them. */
  async #handOutKeys(): Promise<void> {
    await Promise.all(
      [...this.#threads].map(async (thread) => {
        const keys = this.#app.barrier.handOver();
        if (!keys) return;
        // One that has not said so may listen already.
        const asking = thread.dialogue.ask({ type: 'keys', keys }, memoryOf(keys.keyring));
        await this.#requireIn(KEYS_MS, thread, asking);
      }),
    );
  }

  /** Resolves when none has a key any more. */
  async #seal(): Promise<void> {
    await Promise.all(
      [...this.#threads].map((thread) =>
        this.#requireIn(SEAL_MS, thread, thread.dialogue.ask({ type: 'seal' })),
      ),
    );
  }

  /** Ends a thread that does not do what it is asked for in time; its successor is as it should be. */
  async #requireIn(
    milliseconds: number,
    thread: Answering,
    doing: Promise<unknown>,
  ): Promise<void> {
    if (await isDoneWithin(milliseconds, doing)) return;
    thread.is_ended = true;
    await thread.worker.terminate();
  }

  #lose(thread: Answering): void {
    this.#threads.delete(thread);
    thread.takeLast();
    thread.dialogue.end(new Failure('unavailable', 'the thread has ended'));
    thread.forwarded.end();
    noteEnd(this.#app, thread.place);
    this.#meters.lose(thread);
    if (thread.listens) this.#replace(REPLACED, thread.is_ended);
  }

  /**
   * Starts another one, unless too many have died of late. One that was ended has not: were the process to end for a
   * sealing that came late everywhere, what starts it anew could undo that.
   */
  #replace(why: string, is_ended = false): void {
    const { log } = this.#app;
    const isTooMany = !is_ended && !this.#isStopping && this.#deaths.note();
    if (isTooMany) this.#death.resolve(new Failure('unavailable', TOO_MANY));
    if (isTooMany || this.#isStopping) return;
    log.error({}, `${why}; another one takes its place`);
    this.#start().catch((err: unknown) => {
      log.error({ err }, 'a thread that answers could not be started');
      this.#replace('a thread that answers could not be started');
    });
  }
}
