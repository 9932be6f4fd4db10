import { hash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Caller } from '../../access/caller.ts';
import { planInTurn } from '../../access/turns/operations.ts';
import { type App, perApp } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { requireSoundKey } from '../certificates/csr-rules.ts';
import type { PlannedRoot, WantedRoot } from '../issuers/root.ts';
import type {
  FromPlanThread,
  LeafTask,
  Planned,
  PlannedLeaf,
  PlanTask,
  ToPlanThread,
} from './task.ts';
import { weighTask } from './task.ts';

/** A thread that has had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 30_000;

/** Keys that were found to be sound and are remembered. */
const MOST_KEYS = 4096;

/**
 * Decides on a certificate on a thread of its own.
 *
 * @throws Failure as deciding does; `rate_limited` when too many wait, of the caller's address or
 *   altogether; `unavailable` when the thread is ended
 */
export async function planLeafOnThread(
  app: App,
  caller: Caller,
  task: LeafTask,
): Promise<PlannedLeaf> {
  const planned = await runInTurn(app, caller, task);
  if (planned.of !== 'leaf') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** {@link planLeafOnThread} for a certificate that signs itself. */
export async function planRootOnThread(
  app: App,
  caller: Caller,
  wanted: WantedRoot,
): Promise<PlannedRoot> {
  const planned = await runInTurn(app, caller, { kind: 'root', wanted });
  if (planned.of !== 'root') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

function runInTurn(app: App, caller: Caller, task: PlanTask): Promise<Planned> {
  return planInTurn(app, caller, weighTask(task), () => threadOf(app).run(task));
}

const soundKeys = perApp(() => new Set<string>());

/**
 * Refuses a key whose private half could be found. An RSA key takes calculations of a millisecond to
 * some tenths of a second: they are made on the thread, and once for a key that is certified again.
 *
 * @param subjectPublicKeyInfo DER
 * @throws Failure `invalid`; otherwise as {@link planLeafOnThread}
 */
export async function requireSoundKeyOf(
  app: App,
  caller: Caller,
  key: KeyDescription,
  subjectPublicKeyInfo: Uint8Array,
): Promise<void> {
  if (key.key_type !== 'rsa') {
    requireSoundKey(subjectPublicKeyInfo);
    return;
  }
  const known = soundKeys(app);
  const digest = hash('sha256', subjectPublicKeyInfo, 'base64');
  if (known.has(digest)) return;
  await runInTurn(app, caller, { kind: 'key', subjectPublicKeyInfo });
  const [oldest] = known;
  if (oldest !== undefined && known.size >= MOST_KEYS) known.delete(oldest);
  known.add(digest);
}

const threadOf = perApp((app) => {
  const thread = new PlanThread();
  app.onClose(() => thread.stop());
  return thread;
});

interface Waiting {
  resolve(planned: Planned): void;
  reject(reason: Error): void;
}

/** The one thread of a server that decides on long requests: started for the first, ended when idle. */
class PlanThread {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;

  async run(task: PlanTask): Promise<Planned> {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.ref();
      const order: ToPlanThread = { id, task };
      worker.postMessage(order);
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#giveUp('the server is stopping');
    await worker?.terminate();
  }

  #start(): Worker {
    // Type stripping leaves file names alone, so a built program names the built file.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
      name: 'planning',
    });
    worker.on('message', (answer: FromPlanThread) => this.#finish(answer));
    worker.on('error', (error: unknown) => this.#lose(worker, String(error)));
    worker.on('exit', (code) => this.#lose(worker, `exit code ${code}`));
    return worker;
  }

  #finish(answer: FromPlanThread): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) {
      this.#worker?.unref();
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.stop(), IDLE_MS);
      this.#idle.unref();
    }
    switch (answer.type) {
      case 'planned':
        waiting?.resolve(answer.planned);
        return;
      case 'refused':
        waiting?.reject(new Failure(answer.kind, answer.message, answer.detail));
        return;
      case 'failed':
        waiting?.reject(new Error(answer.message));
    }
  }

  /** The next task gets a new thread. */
  #lose(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#giveUp(`its thread ended (${why})`);
  }

  #giveUp(why: string): void {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    const reason = new Failure('unavailable', `no certificate was made: ${why}`);
    for (const { reject } of lost) reject(reason);
  }
}
