import { createECDH, randomFillSync } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { type App, perApp } from '../../app/app.ts';
import type { BareEcKey } from '../../x509/private-keys.ts';
import { bareKeyOf, PAIR_BYTES, SECRET_BYTES } from './p256-pair.ts';

/**
 * Makes fresh P-256 pairs, {@link PAIR_BYTES} each: random numbers, and again where one is none of the curve's (FIPS
 * 186-5, A.2.2). The library's own way to a pair takes twice as long.
 *
 * @param fill fills all of the given bytes with random ones
 */
export function makePairs(
  count: number,
  fill: (bytes: Uint8Array) => void = randomFillSync,
): Uint8Array<ArrayBuffer> {
  const pairs = new Uint8Array(count * PAIR_BYTES);
  const secrets = new Uint8Array(count * SECRET_BYTES);
  fill(secrets);
  const maker = createECDH('prime256v1');
  for (let pair = 0; pair < count; pair += 1) {
    const secret = secrets.subarray(pair * SECRET_BYTES, (pair + 1) * SECRET_BYTES);
    while (!isSecret(secret)) fill(secret);
    maker.setPrivateKey(secret);
    pairs.set(secret, pair * PAIR_BYTES);
    pairs.set(maker.getPublicKey(), pair * PAIR_BYTES + SECRET_BYTES);
  }
  secrets.fill(0);
  return pairs;
}

/** The order of the curve's group (FIPS 186-5; SP 800-186, 3.2.1.3). */
const ORDER = Buffer.from(
  'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  'hex',
);
const ZERO = new Uint8Array(SECRET_BYTES);

/** Whether a number is above zero and below the order: all but one in 2^32 are. */
const isSecret = (secret: Uint8Array): boolean =>
  Buffer.compare(secret, ORDER) < 0 && Buffer.compare(secret, ZERO) > 0;

/**
 * A fresh P-256 key that nobody else gets. As bare numbers, made ahead on a thread of their own,
 * it costs this one 2 µs and its share of the messages; made in the thread pool, wrapped into a
 * key object and written out again it was an eighth of an issuance. When none is ready, one is made here.
 */
export function takeP256Key(app: App): BareEcKey {
  return bareKeyOf(stockOf(app).take() ?? makePairs(1));
}

/** P-256 keys that lie ready. Asked by tests alone: nothing else shows that none is left in memory by a seal. */
export function countReadyPairs(app: App): number {
  return stockOf(app).size;
}

const stockOf = perApp((app) => {
  const stock = new Stock((why) => app.log.warn({ why }, 'P-256 keys are not made in advance'));
  app.barrier.onSeal(() => stock.empty());
  app.onClose(() => stock.close());
  return stock;
});

/** Keys made at once, some 4 ms of another core; half as many more lie ready at most. */
const BATCH = 256;

/** A batch that takes so long, in milliseconds, does not come: keys are made on the spot then. */
const DEADLINE_MS = 10_000;

/** After a thread that was lost none is started for this long, in milliseconds. */
const REST_MS = 60_000;

/**
 * Without a batch to make for this long, in milliseconds, the thread ends. Not sooner: an end gives little memory
 * back, and where its like starts anew now and then the process takes 5 MB a minute more for half an hour
 * (`bench/mixed.ts`).
 */
const IDLE_MS = 600_000;

class Stock {
  readonly #onLoss: (why: string) => void;
  #pairs = new Uint8Array(0);
  /** Where the next pair begins. */
  #at = 0;
  #worker: Worker | undefined;
  /** A batch is being made. */
  #isAsked = false;
  #isClosed = false;
  #idle: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** Set after a loss, till the next thread may be started. */
  #rest: NodeJS.Timeout | undefined;

  constructor(onLoss: (why: string) => void) {
    this.#onLoss = onLoss;
  }

  get size(): number {
    return (this.#pairs.length - this.#at) / PAIR_BYTES;
  }

  /** The pair's bytes are the taker's alone; undefined: none is ready. */
  take(): Uint8Array | undefined {
    if (this.size === 0) {
      this.#ask();
      return undefined;
    }
    const end = this.#at + PAIR_BYTES;
    const pair = this.#pairs.slice(this.#at, end);
    this.#pairs.fill(0, this.#at, end);
    this.#at = end;
    // The stock is filled up only once half a batch was taken.
    if (this.size <= BATCH / 2) this.#ask();
    return pair;
  }

  /** Forgets what lies ready, and what is being made. */
  empty(): void {
    this.#pairs.fill(0);
    this.#at = this.#pairs.length;
    void this.#end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#rest);
    this.empty();
    await this.#end();
  }

  #ask(): void {
    if (this.#isAsked || this.#isClosed || this.#rest !== undefined) return;
    this.#isAsked = true;
    clearTimeout(this.#idle);
    const worker = this.#worker ?? this.#start();
    this.#worker = worker;
    worker.postMessage(BATCH);
    this.#deadline = setTimeout(() => {
      this.#lose(worker, 'a batch takes too long');
      void worker.terminate();
    }, DEADLINE_MS);
    this.#deadline.unref();
  }

  #start(): Worker {
    // Type stripping leaves file names alone, so a built program names the built file.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./p256.thread.${extension}`, import.meta.url), {
      name: 'p256-keys',
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
    worker.on('message', (pairs: Uint8Array<ArrayBuffer>) => this.#put(worker, pairs));
    worker.on('error', (error: unknown) => this.#lose(worker, String(error)));
    worker.on('exit', (code) => this.#lose(worker, `exit code ${code}`));
    // Keys in stock are no reason to keep a process running.
    worker.unref();
    return worker;
  }

  #put(worker: Worker, pairs: Uint8Array<ArrayBuffer>): void {
    if (this.#worker !== worker) {
      pairs.fill(0);
      return;
    }
    clearTimeout(this.#deadline);
    this.#isAsked = false;
    const left = this.#pairs.subarray(this.#at);
    const joined = new Uint8Array(left.length + pairs.length);
    joined.set(left);
    joined.set(pairs, left.length);
    left.fill(0);
    pairs.fill(0);
    this.#pairs = joined;
    this.#at = 0;
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS);
    this.#idle.unref();
  }

  /**
   * A thread that cannot run is not started again and again; keys are made on the spot meanwhile. It may
   * have been the whole process that stood still, so that it is not given up for good.
   */
  #lose(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#deadline);
    this.#worker = undefined;
    this.#isAsked = false;
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
    }, REST_MS);
    this.#rest.unref();
    this.#onLoss(why);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    clearTimeout(this.#deadline);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isAsked = false;
    await worker?.terminate();
  }
}
