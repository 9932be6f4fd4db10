import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { Failure } from '../core/failure.ts';
import {
  type Answer,
  type Order,
  type Refusal,
  RefusedOrder,
  type Result,
  type TokenRef,
} from './orders.ts';

/** Orders that wait for one module; what is more is refused at once. */
const MOST_WAITING = 512;
/** Making a key takes a device so many times as long as using one may. */
const MAKING_TAKES = 12;
/** After a process was lost and its place taken in vain none is started for this long, in milliseconds. */
const REST_MS = 1_000;
/** Without an order for this long, in milliseconds, the process ends, and with it what it knows of PINs. */
const IDLE_MS = 300_000;
/** PINs that are remembered as wrong. */
const MOST_REFUSED = 1_000;

export interface ModuleSettings {
  /** As the configuration calls it. */
  name: string;
  /** Path of the shared library. */
  library: string;
  /** Milliseconds for one order; three times that are waited for a turn. */
  timeout_ms: number;
  log: Pick<Logger, 'warn'>;
  /** Path of the entry of the process; another one in tests. */
  entry?: string | undefined;
}

interface Waiting {
  order: Order;
  since: number;
  tries: number;
  resolve(result: Result): void;
  reject(reason: Error): void;
}

/**
 * A PKCS #11 module in a process of its own, which is started for the first order, given one at a time, and killed
 * when one takes too long. What fails since the token or the module was gone is tried once more with the module
 * loaded anew: a token that comes back is found without anybody's doing.
 */
export class ModuleProcess {
  readonly #settings: ModuleSettings;
  readonly #waiting: Waiting[] = [];
  readonly #refusedPins = new Set<string>();
  #child: ChildProcess | undefined;
  #current: (Waiting & { id: number }) | undefined;
  #next = 0;
  #deadline: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** Until when (milliseconds of the machine's running) no process is started. */
  #restUntil = 0;

  constructor(settings: ModuleSettings) {
    this.#settings = settings;
  }

  /**
   * @throws RefusedOrder as the module refuses; Failure `unavailable` when it cannot be reached or takes too long,
   *   `rate_limited` when too many wait for it
   */
  run(order: Order): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (this.#waiting.length >= MOST_WAITING) {
      throw new Failure('rate_limited', `too many wait for the module "${this.#settings.name}"`, {
        retry_after: 1,
      });
    }
    if (this.#refusedPins.has(pinOf(order))) throw pinRefused();
    this.#waiting.push({ order, since: performance.now(), tries: 0, resolve, reject });
    this.#goOn();
    return promise;
  }

  /** A PIN that was wrong may be tried once more: somebody says that it is right now. Others still are wrong. */
  forgetRefusedPin(token: TokenRef): void {
    this.#refusedPins.delete(pinOf({ token }));
  }

  /** Ends the process, and gives up what it was given. */
  async stop(why = 'the server is stopping or sealed'): Promise<void> {
    const child = this.#child;
    const given = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)];
    this.#end();
    for (const { reject } of given) reject(this.#unavailable(why));
    if (child && child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => child.once('exit', resolve));
    }
  }

  #goOn(): void {
    if (this.#current !== undefined) return;
    const first = this.#waiting.shift();
    if (!first) {
      this.#idle = setTimeout(() => this.#end(), IDLE_MS);
      this.#idle.unref();
      return;
    }
    clearTimeout(this.#idle);
    const { order, since, reject } = first;
    const { timeout_ms } = this.#settings;
    if (performance.now() - since > 3 * timeout_ms) {
      reject(this.#unavailable('it takes too long'));
      this.#goOn();
      return;
    }
    if (this.#refusedPins.has(pinOf(order))) {
      reject(pinRefused());
      this.#goOn();
      return;
    }
    if (!this.#child && performance.now() < this.#restUntil) {
      reject(this.#unavailable('its token or process was lost a moment ago'));
      this.#goOn();
      return;
    }
    this.#child ??= this.#start();
    const id = this.#next++;
    this.#current = { ...first, id };
    const takes = order.kind.startsWith('make') ? MAKING_TAKES * timeout_ms : timeout_ms;
    this.#deadline = setTimeout(() => this.#lose('it takes too long', false), takes);
    const child = this.#child;
    child.ref();
    child.channel?.ref();
    child.send({ ...order, id }, (error) => {
      if (error) this.#loseOf(child);
    });
  }

  #start(): ChildProcess {
    const { library, entry } = this.#settings;
    // Type stripping leaves file names alone, so a built program names the built file.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const child = fork(
      entry ?? new URL(`./module.client.${extension}`, import.meta.url),
      [library],
      {
        // Node calls its foreign functions an experiment on stderr; and whatever a module prints is nobody's to see.
        execArgv: [...ownHooks(), '--disable-warning=ExperimentalWarning'],
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    );
    child.on('message', (answer: Answer) => {
      if (this.#child === child) this.#finish(answer);
    });
    child.on('error', () => this.#loseOf(child));
    child.on('exit', () => this.#loseOf(child));
    return child;
  }

  #finish(answer: Answer): void {
    const current = this.#current;
    if (!current || answer.id !== current.id) return;
    if (answer.type === 'refused' && (answer.refusal === 'lost' || answer.refusal === 'module')) {
      this.#lose(answer.message, answer.refusal === 'lost');
      return;
    }
    clearTimeout(this.#deadline);
    this.#current = undefined;
    // Neither a module without work nor its process is a reason to keep the server running.
    this.#child?.unref();
    this.#child?.channel?.unref();
    if (answer.type === 'refused') current.reject(this.#noteRefusal(current.order, answer));
    else current.resolve(answer);
    this.#goOn();
  }

  #noteRefusal(order: Order, refused: { refusal: Refusal; message: string }): RefusedOrder {
    if (refused.refusal === 'pin') {
      if (this.#refusedPins.size >= MOST_REFUSED) this.#refusedPins.clear();
      this.#refusedPins.add(pinOf(order));
      this.#warn(refused.message);
    }
    return new RefusedOrder(refused.refusal, refused.message);
  }

  #loseOf(child: ChildProcess): void {
    if (this.#child !== child) return;
    if (this.#current) this.#lose('its process has ended', true);
    else this.#end();
  }

  /** Gives the process up; what it was doing is begun anew once, unless that may have been done or takes too long. */
  #lose(why: string, isWorthAnother: boolean): void {
    const current = this.#current;
    this.#end();
    if (!current) {
      this.#goOn();
      return;
    }
    const { order, since, tries, resolve, reject } = current;
    if (isWorthAnother && tries === 0 && !order.kind.startsWith('make')) {
      this.#waiting.unshift({ order, since, tries: 1, resolve, reject });
    } else {
      this.#restUntil = performance.now() + REST_MS;
      this.#warn(why);
      reject(this.#unavailable(why));
    }
    this.#goOn();
  }

  #end(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = undefined;
    this.#current = undefined;
    // It may stand in a call that nothing else ends.
    child?.kill('SIGKILL');
  }

  #warn(why: string): void {
    this.#settings.log.warn({ module: this.#settings.name, why }, 'a PKCS #11 module failed');
  }

  #unavailable(why: string): Failure {
    return new Failure('unavailable', `the module "${this.#settings.name}" did not do it: ${why}`, {
      retry_after: 1,
    });
  }
}

/** What reads the program's own files where types are not taken out by Node itself. */
const ownHooks = (): string[] => process.execArgv.filter((one) => one.startsWith('--import='));

function pinRefused(): RefusedOrder {
  return new RefusedOrder(
    'pin',
    'the PIN was refused before and is not tried again, since tokens lock after some wrong ones',
  );
}

/** A PIN with where it was used, as nobody can read it. */
function pinOf({ token }: Pick<Order, 'token'>): string {
  const { slot, token_label, pin } = token;
  return createHash('sha256')
    .update(JSON.stringify([slot, token_label, pin]))
    .digest('base64');
}
