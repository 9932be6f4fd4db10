import { Worker } from 'node:worker_threads';
import { type App, perApp } from '../../../app.ts';
import { Failure } from '../../../core/failure.ts';
import type { DatabasePlace } from '../../../store/reading.ts';
import type { AssembledList } from '../../../x509/crl-assembly.ts';
import type { Key } from '../../keys/key.ts';
import { requireSigningKey, signWithKey } from '../../keys/operations.ts';
import type { ListJob } from './job.ts';
import { makeList, remakeList, type SignedList } from './jobs.ts';
import type { FromListThread, ListTask, ToListThread } from './messages.ts';
import { weighList } from './weight.ts';

/** Lists of a mount with at most so many revocations are made on the calling thread. */
const SHORT = 1000;

/** A thread that has had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 30_000;

/**
 * Makes and signs a list: a short one at once, a long one on a thread of its own.
 *
 * @throws Failure `conflict` for a list longer than it may be, `unavailable` while sealed
 */
export async function makeSignedList(
  app: App,
  job: ListJob,
  signer: { mount_id: string; key: Key },
): Promise<SignedList> {
  const { mount_id, key } = signer;
  if (job.content.revision <= SHORT) {
    return makeList(app.db, job, (tbs) => signWithKey(app, mount_id, key, job.algorithm, tbs));
  }
  const task: ListTask = { kind: 'make', key: await requireSigningKey(app, mount_id, key) };
  const answer = await threadOf(app).run(job, task);
  if (answer.type !== 'made') throw new Error(`the list thread answered "${answer.type}"`);
  return { list: answer.list, signature: answer.signature };
}

/** Makes a list again that was signed before; undefined: it cannot be had any more. */
export async function remakeSignedList(
  app: App,
  job: ListJob,
  signed: { signature: Uint8Array; public_key: Uint8Array },
): Promise<AssembledList | undefined> {
  if (job.content.revision <= SHORT) return remakeList(app.db, job, signed);
  const answer = await threadOf(app).run(job, { kind: 'remake', ...signed });
  if (answer.type !== 'remade') throw new Error(`the list thread answered "${answer.type}"`);
  return answer.list;
}

const threadOf = perApp((app) => {
  const thread = new ListThread(app.store.place);
  app.onClose(() => thread.stop());
  // With the thread goes the key that it may be signing with.
  app.barrier.onLock(() => thread.stop());
  return thread;
});

interface Waiting {
  resolve(answer: FromListThread): void;
  reject(reason: Error): void;
}

/** The one thread of a server that makes long lists: started for the first, ended when idle. */
class ListThread {
  readonly #place: DatabasePlace;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(place: DatabasePlace) {
    this.#place = place;
  }

  /** @throws Failure as the thread refuses; `unavailable` when it is ended meanwhile */
  run(job: ListJob, task: ListTask): Promise<FromListThread> {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.ref();
      const order: ToListThread = { id, job, task };
      worker.postMessage(order);
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#giveUp(new Failure('unavailable', 'the server is stopping or sealed'));
    await worker?.terminate();
  }

  #start(): Worker {
    // Type stripping leaves file names alone, so a built program names the built file.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      workerData: this.#place,
      name: 'lists',
    });
    worker.on('message', (answer: FromListThread) => this.#finish(answer));
    worker.on('error', (error: unknown) => this.#lose(worker, String(error)));
    worker.on('exit', (code) => this.#lose(worker, `exit code ${code}`));
    return worker;
  }

  #finish(answer: FromListThread): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) {
      this.#worker?.unref();
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.stop(), IDLE_MS);
      this.#idle.unref();
    }
    if ('list' in answer && answer.list) weighList(answer.list.der);
    if (answer.type === 'refused') waiting?.reject(new Failure(answer.kind, answer.message));
    else if (answer.type === 'failed') waiting?.reject(new Error(answer.message));
    else waiting?.resolve(answer);
  }

  /** The next list gets a new thread. */
  #lose(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#giveUp(new Failure('unavailable', `the CRL was not built: its thread ended (${why})`));
  }

  #giveUp(reason: Failure): void {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(reason);
  }
}
