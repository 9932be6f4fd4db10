import { setTimeout as wait } from 'node:timers/promises';
import { Allowance } from './allowance.ts';
import { KEY_EXCHANGE_FAILED, SshFault } from './fault.ts';
import { isOfExchange } from './messages.ts';

/**
 * Changes of keys that a peer has for nothing. OpenSSH's smallest limits change them with each packet that is full, 32 KiB:
 * what is carried earns more of them than that.
 */
const FREE = { most: 64, per_second: 1 };
/** Bytes of messages, in both directions, that earn a change. */
const BYTES = 16 << 10;
/** Of a connection's time, changes take one part in so many at the most. */
const SHARE = 4;
/**
 * So long a peer has to finish a change that it has begun, which holds up all that is for it: the answer to its offer may
 * have to pass much that is on a slow line already.
 */
const FINISHED_MS = 120_000;
/** A machine that was elsewhere while keys were calculated holds nobody up for longer. */
const MOST_WAIT_MS = 250;

interface Clock {
  /** Milliseconds of a clock that only goes on. */
  elapsed(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

const SYSTEM_CLOCK: Clock = { elapsed: () => performance.now(), sleep: (ms) => wait(ms) };

/**
 * Bounds what a peer can have calculated by changing keys again and again: each change costs a secret and a signature
 * here, and next to nothing there.
 */
export class KeyChanges {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  /** When the next one may begin. */
  #due = 0;
  #isLate = false;

  constructor(clock: Clock = SYSTEM_CLOCK) {
    this.#clock = clock;
    this.#allowance = new Allowance(FREE, clock.elapsed);
  }

  /** A message that went one way or the other. */
  carried(message: Buffer): void {
    if (!isOfExchange(message[0] ?? 0)) this.#allowance.earn(message.length / BYTES);
  }

  /** Returns once the peer may change keys. @throws SshFault for one that does little else */
  async admit(): Promise<void> {
    if (!this.#allowance.take()) throw new SshFault('it changes its keys too often');
    const left = this.#due - this.#clock.elapsed();
    if (left > 0) await this.#clock.sleep(left);
  }

  /**
   * It begins to change them. The first exchange of a connection is no change: whoever starts that has a limit for it.
   *
   * @param onLate called where it does not come to an end in time
   * @returns what to call at the end
   */
  begin(onLate: () => void): () => void {
    const timer = setTimeout(() => {
      this.#isLate = true;
      onLate();
    }, FINISHED_MS);
    return () => clearTimeout(timer);
  }

  /** @throws SshFault once a change that was begun takes too long */
  checkTime(): void {
    if (!this.#isLate) return;
    throw new SshFault('it does not finish changing its keys', KEY_EXCHANGE_FAILED);
  }

  /** @param milliseconds that a change took to calculate */
  spent(milliseconds: number): void {
    const pause = Math.min(MOST_WAIT_MS, milliseconds * (SHARE - 1));
    this.#due = this.#clock.elapsed() + pause;
  }
}
