import { type MessagePort, Worker } from 'node:worker_threads';
import type { App } from '../../app/app.ts';
import { doForOthers, hearFromOthers, oneForAll } from '../../app/one-for-all.ts';
import { type Keyring, memoryOf } from '../../barrier/keyring.ts';
import type { Config } from '../../config/config.ts';
import { Failure } from '../../core/failure.ts';
import { SharedBytes } from '../../core/fairness/shared-bytes.ts';
import { type Measured, otherMeters } from '../../metrics/meters.operations.ts';
import { otherEncryptions } from '../../seal/key-status.operations.ts';
import { Dialogue } from './dialogue.ts';
import { Forwarded, type Handlers } from './forwarding.ts';
import type { AnsweringOptions, Asked, Said } from './messages.ts';
import { shareOfThread } from './share.ts';

/** Bytes that are made of the bodies of requests that are handed on. */
const BODY_BYTES = { total: 64 << 20, each: 32 << 20 };
/** A thread that does not let go of its keys within this is ended. */
const SEAL_MS = 2_000;
/** A thread that is busy for longer is not among those that are told of. */
const METERS_MS = 2_000;
/** A thread that does not stop within this is ended. */
const STOP_MS = 35_000;
/** So many deaths within {@link DEATHS_MS} are too many. */
const MOST_DEATHS = 5;
const DEATHS_MS = 60_000;

interface Place {
  host: string;
  port: number;
}

interface Answering {
  place: number;
  worker: Worker;
  dialogue: Dialogue;
  forwarded: Forwarded;
  listens: boolean;
}

/** The threads that answer, and what each of them is told. */
export class AnsweringThreads {
  readonly #app: App;
  readonly #handlers: Handlers;
  readonly #bodies = new SharedBytes(BODY_BYTES);
  readonly #threads = new Set<Answering>();
  #config: Config;
  #deaths: number[] = [];
  #isStopping = false;
  #onDeath: (death: Failure) => void = () => {};

  /** @param handlers find who answers what is answered in one place */
  constructor(app: App, handlers: Handlers) {
    this.#app = app;
    this.#config = shareOfThread(app.config);
    this.#handlers = handlers;
    oneForAll(app).tellAll = (name, told) => {
      for (const { dialogue } of this.#threads) dialogue.say({ type: 'tell', name, told });
    };
    otherMeters(app).ask = () => this.#readMeters();
    otherEncryptions(app).ask = async () =>
      (await this.#readMeters()).reduce((sum, { encryptions }) => sum + encryptions, 0);
    app.barrier.onUnseal(() => this.#handOutKeys());
    app.barrier.onReload(() => this.#handOutKeys());
    app.barrier.onSeal(() => this.#seal());
  }

  /** Calls back when threads have died one after the other; the process should end. */
  onDeath(listener: (death: Failure) => void): void {
    this.#onDeath = listener;
  }

  /**
   * Starts the threads, which listen on the same ports.
   *
   * @returns where, with the ports that were given where the configured ones are 0
   * @throws Error with a `code` when an address cannot be had
   */
  async start(count: number): Promise<{ address: Place; public_address: Place | undefined }> {
    const first = await this.#start();
    const { address, public_address } = first;
    const { public_listener } = this.#config;
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

  reloadTls(): void {
    for (const { dialogue } of this.#threads) dialogue.say({ type: 'reload tls' });
  }

  /** Has them write the audit records that wait for more of them. For tests. */
  async writeRecords(): Promise<void> {
    const each = [...this.#threads].map(({ dialogue }) => dialogue.ask({ type: 'write records' }));
    await Promise.all(each);
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
  }

  async #start(): Promise<{ address: Place; public_address: Place | undefined }> {
    const place = this.#freePlace();
    const { worker, keyring } = this.#open(place);
    const listening = Promise.withResolvers<Extract<Said, { type: 'listening' }>>();
    const dialogue = new Dialogue(worker, {
      answer: (asked) => this.#answer(forwarded, asked),
      hear: (said) => {
        if (said.type === 'listening') listening.resolve(said);
        else if (said.type === 'gone') forwarded.gone(said.request);
        else if (said.type === 'let go') forwarded.letGo(said.request);
        else if (said.type === 'tell') hearFromOthers(this.#app, said.name, said.told);
      },
    });
    const forwarded = new Forwarded(dialogue, this.#handlers, this.#bodies);
    const thread: Answering = { place, worker, dialogue, forwarded, listens: false };
    this.#threads.add(thread);
    worker.on('error', (error: unknown) => {
      listening.reject(error instanceof Error ? error : new Error(String(error)));
      if (thread.listens) this.#app.log.error({ err: error }, 'a thread that answers has failed');
    });
    worker.on('exit', (code) => {
      listening.reject(new Error(`exit code ${code}`));
      this.#lose(thread);
    });
    // Keys that came between are not among those that it was started with.
    if (!keyring) await this.#handOutKeys();
    const listens = await listening.promise;
    thread.listens = true;
    return listens;
  }

  /** That of one that has ended is the next one's. */
  #freePlace(): number {
    const taken = new Set([...this.#threads].map((one) => one.place));
    let place = 1;
    while (taken.has(place)) place += 1;
    return place;
  }

  #open(place: number): { worker: Worker; keyring: Keyring | undefined } {
    const store = this.#app.store.share();
    const keyring = this.#app.barrier.copyKeyring();
    const options: AnsweringOptions = { place, config: this.#config, store, keyring };
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const moved: (MessagePort | ArrayBuffer)[] = [store.port, ...memory(keyring)];
    const worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      name: 'answering',
      workerData: options,
      transferList: moved,
    });
    return { worker, keyring };
  }

  #answer(forwarded: Forwarded, asked: Asked): unknown {
    switch (asked.type) {
      case 'request':
        return forwarded.answer(asked.request, asked.head);
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

  /** Of those that tell in time. */
  async #readMeters(): Promise<Measured[]> {
    const told = await Promise.allSettled(
      [...this.#threads].map(({ dialogue }) => within(METERS_MS, dialogue.ask({ type: 'meters' }))),
    );
    return told.flatMap((one) => (one.status === 'fulfilled' ? [one.value as Measured] : []));
  }

  /** Resolves when all have them. */
  async #handOutKeys(): Promise<void> {
    await Promise.all(
      [...this.#threads].map(async ({ dialogue }) => {
        const keyring = this.#app.barrier.copyKeyring();
        if (!keyring) return;
        // One that has ended needs none; its successor gets them.
        await dialogue.ask({ type: 'keys', keyring }, memory(keyring)).catch(() => {});
      }),
    );
  }

  /** Resolves when none has a key any more. */
  async #seal(): Promise<void> {
    await Promise.all(
      [...this.#threads].map(async ({ worker, dialogue }) => {
        const isDone = await within(SEAL_MS, dialogue.ask({ type: 'seal' })).then(
          () => true,
          () => false,
        );
        if (!isDone) await worker.terminate();
      }),
    );
  }

  #lose(thread: Answering): void {
    this.#threads.delete(thread);
    thread.dialogue.end(new Failure('unavailable', 'the thread has ended'));
    thread.forwarded.end();
    if (thread.listens)
      this.#replace('a thread that answers has ended: what it was answering is lost');
  }

  /** Starts another one, unless too many have died of late. */
  #replace(why: string): void {
    if (this.#isStopping) return;
    const { log } = this.#app;
    const now = performance.now();
    this.#deaths = [...this.#deaths.filter((at) => at > now - DEATHS_MS), now];
    if (this.#deaths.length >= MOST_DEATHS) {
      this.#onDeath(new Failure('unavailable', 'threads that answer die one after the other'));
      return;
    }
    log.error({}, `${why}; another one takes its place`);
    this.#start().catch((err: unknown) => {
      log.error({ err }, 'a thread that answers could not be started');
      this.#replace('a thread that answers could not be started');
    });
  }
}

const memory = (keyring: Keyring | undefined): ArrayBuffer[] =>
  keyring ? memoryOf(keyring).filter((one) => one instanceof ArrayBuffer) : [];

async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('it takes too long')), milliseconds);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
