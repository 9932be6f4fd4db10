import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { HandshakeSecret, ServerFlight } from './server-flight.ts';
import type { Shares } from './shares.ts';

/** Bytes that are read in one turn of the loop. */
const PIECE = 16 << 10;

/** Whose connection it is, and how much of what comes is looked at. */
interface GateRules {
  shares: Shares;
  /** Asked once it is connected. */
  accounts(): readonly string[];
  /** Bytes; what is beyond is not handed on. */
  most: number;
  tooLong: Error;
  /** Of a connection that is to be secured: looks at what comes before it is handed on. */
  flight: ServerFlight | undefined;
}

const NOTHING = Buffer.alloc(0);

type Done = (error?: Error | null) => void;

/**
 * A connection of which nothing is read, nor decrypted, before its turn. Reading costs whatever the other side makes
 * it cost, a verified certificate most of all: so it comes in pieces, which those who wait share out, and ends where
 * it is longer than an honest one.
 */
export class Gate extends Duplex {
  readonly #raw: Socket;
  readonly #rules: GateRules;
  #most: number;
  #handedOn = 0;
  /** What came and was not looked at. */
  #come: Buffer = NOTHING;
  /** Whether what was looked at, and could not be handed on, can be by now. */
  #isCleared = false;
  #isWanted = true;
  /** How it ends once all that came is handed on. */
  #end: (() => void) | undefined;
  /** Takes back the piece that waits for its turn. */
  #leave: (() => void) | undefined;

  constructor(raw: Socket, rules: GateRules) {
    super({ allowHalfOpen: true });
    this.#raw = raw;
    this.#rules = rules;
    this.#most = rules.most;
    raw.on('data', (come: Buffer) => {
      raw.pause();
      this.#come = this.#come.length === 0 ? come : Buffer.concat([this.#come, come]);
      this.#goOn();
    });
    raw.on('end', () => this.#finish(() => void this.push(null)));
    raw.on('error', (error) => this.#finish(() => void this.destroy(error)));
  }

  /** Lets so many bytes more be handed on from now on. */
  allow(most: number): void {
    this.#most = this.#handedOn + most;
  }

  /** By which what comes next is encrypted. */
  learn(secret: HandshakeSecret): void {
    this.#rules.flight?.learn(secret);
    this.#isCleared = true;
    this.#goOn();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#goOn();
  }

  override _write(part: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#raw.write(part, (error) => done(error));
  }

  override _final(done: Done): void {
    this.#raw.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#leave?.();
    this.#raw.destroy();
    done(error);
  }

  #finish(end: () => void): void {
    this.#end ??= end;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#leave || this.destroyed) return;
    if (this.#come.length === 0 && !this.#isCleared) {
      if (this.#end) this.#end();
      else this.#raw.resume();
      return;
    }
    if (!this.#isWanted) return;
    this.#leave = this.#rules.shares.add(this.#rules.accounts(), () => this.#handOn());
  }

  #handOn(): void {
    this.#leave = undefined;
    if (this.destroyed) return;
    const come = this.#come.subarray(0, PIECE);
    this.#come = this.#come.subarray(PIECE);
    this.#isCleared = false;
    try {
      const piece = this.#rules.flight?.clear(come) ?? come;
      if (this.#handedOn + piece.length > this.#most) throw this.#rules.tooLong;
      if (piece.length > 0) this.#pass(piece);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
    this.#goOn();
  }

  #pass(piece: Buffer): void {
    this.#handedOn += piece.length;
    // Before it is handed on: more can be asked for right there.
    this.#isWanted = false;
    const isRoom = this.push(piece);
    if (isRoom) this.#isWanted = true;
  }
}
