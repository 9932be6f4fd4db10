import type { Socket } from 'node:net';
import { type Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';
import { SiteTurns } from '../core/fairness/site-turns.ts';
import { partyOfSocket } from './peer.ts';
import { startReading, stopReading } from './reading.ts';
import { endOfTurn } from './turn-length.ts';

/** Bytes that are passed on at once: some hundred chunks of a body, or records of TLS, at most. */
const SLICE = 2 << 10;
/** What is no longer is passed on as it comes: a usual request. */
const SHORT = 1 << 10;
/** Bytes that wait for a later turn, in all and of one address. */
const WAITING_BYTES = { total: 32 << 20, each: 16 << 20 };

export type Bytes = Buffer<ArrayBuffer>;

/** What takes a socket's bytes, a slice at a time. */
interface Taker {
  pass(bytes: Bytes): void;
  /** Whether no more is to be read for it now; it has the feed start again when that is over. */
  isPaused(): boolean;
  /** Whether it cannot take either what has been read; as long as that it is paused, too. */
  isFull?(): boolean;
}

/** What waits for a turn. */
interface Waiting {
  readonly party: string;
  goOn(): void;
}

/** Which sockets have bytes left or are to be closed when the time of a turn is up. */
export class FeedTurns {
  #until = 0;
  #isCounting = false;
  readonly #waiting = new SiteTurns<Waiting>();
  readonly #kept = new SharedBytes(WAITING_BYTES);
  readonly #isBehind: () => boolean;

  /** @param isBehind whether what was passed on before is more than can be done by now */
  constructor(isBehind: () => boolean = () => false) {
    this.#isBehind = isBehind;
  }

  get isOver(): boolean {
    const now = performance.now();
    this.#count(now);
    return now > this.#until || this.#isBehind();
  }

  wait(one: Waiting): void {
    this.#count(performance.now());
    this.#waiting.add(one.party, one);
  }

  /** Does something short in this turn if there is time, in one of its own otherwise. */
  begin(party: string, goOn: () => void): void {
    if (this.isOver) this.wait({ party, goOn });
    else goOn();
  }

  /** Keeps count of bytes that wait. */
  hold(party: string, giveUp: () => void): Hold {
    return this.#kept.hold(party, giveUp);
  }

  #count(now: number): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#until = endOfTurn(now);
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#waiting.isEmpty) {
      this.#isCounting = false;
      return;
    }
    this.#until = endOfTurn();
    setImmediate(() => this.#next());
    this.#serve();
  }

  /** One socket after the other, each with all that its bytes begin, as if they had come just now. */
  #serve(): void {
    if (performance.now() > this.#until || this.#isBehind()) return;
    const next = this.#waiting.take();
    if (!next) return;
    next.goOn();
    // After the microtasks of what was begun, and theirs: only then is it known how long it took.
    queueMicrotask(() => process.nextTick(() => this.#serve()));
  }
}

/** One socket's bytes on their way to who takes them. */
export class Feed {
  readonly party: string;
  readonly #socket: Socket;
  readonly #taker: Taker;
  readonly #turns: FeedTurns;
  readonly #hold: Hold;
  #left: Bytes[] = [];
  /** Whether its next turn is to come. */
  #isHeldUp = false;
  #isStopped = false;
  /** Whether its turn came while its taker was full. */
  #isHeldBack = false;
  /** Says that nothing more comes, once all is passed on. */
  #end: (() => void) | undefined;

  constructor(socket: Socket, taker: Taker, turns: FeedTurns) {
    this.party = partyOfSocket(socket);
    this.#socket = socket;
    this.#taker = taker;
    this.#turns = turns;
    this.#hold = turns.hold(this.party, () => this.giveUp());
  }

  take(bytes: Bytes): void {
    const isFirst = this.#left.length === 0;
    if (isFirst && bytes.length <= SHORT && !this.#isLate()) {
      this.#taker.pass(bytes);
      return;
    }
    this.#left.push(bytes);
    if (isFirst) {
      if (this.#isLate()) this.#wait();
      else this.goOn();
    }
    // More than one: the turn was over before, and the socket was read on all the same.
    if (this.#left.length > 0 && !this.#hold.grow(bytes.length)) this.giveUp();
  }

  /** A slice at least: whoever's turn has come does not wait again without having had it. */
  goOn(): void {
    do {
      if (this.#isFull()) {
        this.#isHeldUp = false;
        this.#isHeldBack = true;
        this.stop();
        return;
      }
      this.#passSlice();
      if (this.#left.length > 0 && this.#turns.isOver) {
        this.#wait();
        return;
      }
    } while (this.#left.length > 0);
    this.#hold.release();
    this.#isHeldUp = false;
    this.start();
    this.#end?.();
    this.#end = undefined;
  }

  end(end: () => void): void {
    if (this.#left.length > 0) this.#end = end;
    else
      this.#turns.begin(this.party, () => {
        // What takes the end of a socket that is gone may be another's by now.
        if (!this.#socket.destroyed) end();
      });
  }

  stop(): void {
    this.#isStopped = true;
    stopReading(this.#socket);
  }

  /** What is left goes first. */
  start(): void {
    if (!this.#isStopped || this.#isHeldUp || this.#taker.isPaused()) return;
    if (this.#isHeldBack) {
      this.#isHeldBack = false;
      this.#wait();
      return;
    }
    this.#isStopped = false;
    startReading(this.#socket);
  }

  giveUp(): void {
    this.#left = [];
    this.#hold.release();
    this.#socket.destroy();
  }

  #isLate(): boolean {
    return this.#turns.isOver || this.#isFull();
  }

  #isFull(): boolean {
    return this.#taker.isFull?.() ?? false;
  }

  #wait(): void {
    this.#isHeldUp = true;
    this.stop();
    this.#turns.wait(this);
  }

  #passSlice(): void {
    const [first] = this.#left;
    // What takes the bytes of a socket that is gone may be another's by now.
    if (!first || this.#socket.destroyed) {
      this.#left = [];
      return;
    }
    if (first.length <= SLICE) this.#left.shift();
    else this.#left[0] = first.subarray(SLICE);
    this.#taker.pass(first.subarray(0, SLICE));
  }
}
