import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { encodeUint32 } from '../../../ssh/wire.ts';
import { openerOf, sealerOf } from './ciphers.ts';
import {
  BY_APPLICATION,
  faultInExchange,
  KEY_EXCHANGE_FAILED,
  PeerEnded,
  SshFault,
} from './fault.ts';
import { Incoming, MOST_PACKET } from './incoming.ts';
import { KeyChanges } from './key-changes.ts';
import { deriveKeys, exchangeSecret, type Side } from './key-exchange.ts';
import {
  encodeFarewell,
  isIdle,
  isOfExchange,
  MESSAGE,
  readExtensions,
  readFarewell,
} from './messages.ts';
import { encodeKexInit, type Negotiated, negotiate } from './negotiation.ts';
import { Outgoing } from './outgoing.ts';

const IDENTIFICATION = 'SSH-2.0-Gatehouse';
/** What has come and was not read yet: beyond it no more is taken from the stream. A packet has room in it whole. */
const MOST_WAITING = MOST_PACKET + 4096;
/** A message that waits takes so much room besides its bytes. */
const MESSAGE_ROOM = 256;
/** Packets that are there already are read so many at a time: then all others have their turn. */
const PACKETS_OF_TURN = 256;

/**
 * The transport layer of SSH over a stream of bytes, as client or as server: identification, key exchange,
 * encryption. Keys are changed when the peer wants it; this side never asks.
 *
 * @see RFC 4253
 */
export class SshTransport {
  readonly #stream: Duplex;
  readonly #side: Side;
  readonly #host_keys: readonly string[];
  readonly #incoming = new Incoming();
  readonly #outgoing = new Outgoing();
  readonly #key_changes = new KeyChanges();
  #peer_id = '';
  #session_id: Buffer | undefined;
  #isStrict = false;
  /** While keys are exchanged nothing else is sent. */
  #gate: PromiseWithResolvers<void> | undefined;
  #signature_algorithms: readonly string[] | undefined;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  /** Nothing more comes of the stream; what has come may wait yet. */
  #hasEnded = false;
  #isOver = false;
  #of_turn = 0;
  /** Keys were there once. */
  #isReady = false;
  #fault: Error | undefined;
  #farewell = '';
  #wakeReader = (): void => {};
  #wakePump = (): void => {};
  readonly #ready = Promise.withResolvers<void>();

  /** @param host_keys algorithms that a server is to prove itself by, or does */
  constructor(stream: Duplex, side: Side, host_keys: readonly string[]) {
    this.#stream = stream;
    this.#side = side;
    this.#host_keys = host_keys;
    // Whoever waits for it hears of it; nobody need be.
    this.#ready.promise.catch(() => {});
  }

  /** Of the first key exchange; signatures of log-ins are over it. */
  get session_id(): Buffer {
    return this.#session_id ?? Buffer.alloc(0);
  }

  /** What a server takes signatures of users by; undefined where it has not said. */
  get signature_algorithms(): readonly string[] | undefined {
    return this.#signature_algorithms;
  }

  /** What the peer said when it ended the connection; empty if nothing. */
  get farewell(): string {
    return this.#farewell;
  }

  /** Nothing can be sent any more; what has come may not be taken yet. */
  get hasLeft(): boolean {
    return this.#isOver || !this.#stream.writable;
  }

  /** Begins, and returns once keys are there. @throws SshFault, or Error when the stream is broken */
  async start(): Promise<void> {
    const wake = (): void => this.#wakePump();
    this.#stream.on('data', (bytes: Buffer) => {
      this.#incoming.push(bytes);
      if (this.#incoming.length > MOST_WAITING) this.#stream.pause();
      wake();
    });
    const over = (): void => {
      this.#hasEnded = true;
      wake();
    };
    this.#stream.once('end', over);
    this.#stream.once('close', over);
    this.#stream.once('error', over);
    if (this.#stream.destroyed || this.#stream.readableEnded) over();
    this.#stream.write(`${IDENTIFICATION}\r\n`);
    void this.#pump();
    await this.#ready.promise;
  }

  /** The next message that is not the transport's own business; undefined once the peer has ended. @throws SshFault */
  async receive(): Promise<Buffer | undefined> {
    for (;;) {
      const message = this.#queue.shift();
      if (message) {
        this.#queued -= MESSAGE_ROOM + message.length;
        if (this.#queued <= MOST_WAITING) this.#wakePump();
        return message;
      }
      if (this.#fault) throw this.#fault;
      if (this.#isOver) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }

  /** Returns once there is room for more. @throws SshFault when it has ended meanwhile */
  async send(payload: Buffer): Promise<void> {
    while (this.#gate) await this.#gate.promise;
    if (this.hasLeft) throw new SshFault('the connection has ended');
    if (this.#write(payload)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#stream.off('drain', done);
        this.#stream.off('close', done);
        resolve();
      };
      this.#stream.on('drain', done);
      this.#stream.on('close', done);
    });
  }

  /** Says why it ends, and ends. */
  disconnect(reason: string, code: number = BY_APPLICATION): void {
    if (!this.#stream.writable) return;
    this.#write(encodeFarewell(reason, code));
    this.#stream.end();
  }

  #write(payload: Buffer): boolean {
    this.#key_changes.carried(payload);
    return this.#stream.write(this.#outgoing.packet(payload));
  }

  /** Reads until the end, whoever takes what it reads. Never throws. */
  async #pump(): Promise<void> {
    try {
      this.#peer_id = await this.#identification();
      const own_init = this.#offer();
      await this.#exchangeKeys(own_init, await this.#expect(MESSAGE.KEXINIT, false));
      this.#isReady = true;
      this.#ready.resolve();
      for (;;) {
        while (this.#queued > MOST_WAITING) await this.#untilWoken();
        const message = await this.#packet();
        if (message?.[0] === MESSAGE.DISCONNECT) this.#farewell = readFarewell(message);
        if (!message || message[0] === MESSAGE.DISCONNECT) break;
        await this.#handle(message);
      }
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      // Whoever leaves while keys are changed has left, as at any other time.
      if (!(fault instanceof PeerEnded && this.#isReady)) this.#fault = fault;
      this.#gate?.reject(fault);
    }
    this.#isOver = true;
    this.#ready.reject(this.#fault ?? new SshFault('the connection has ended'));
    this.#wakeReader();
  }

  async #handle(message: Buffer): Promise<void> {
    const number = message[0] ?? 0;
    if (number === MESSAGE.KEXINIT) {
      // Until it may, what is on its way to the peer goes on.
      await this.#key_changes.admit();
      if (!this.#stream.writable) throw new PeerEnded('the connection has ended');
      const finish = this.#key_changes.begin(() => this.#wakePump());
      return this.#exchangeKeys(this.#offer(), message).finally(finish);
    }
    if (number === MESSAGE.EXT_INFO) {
      this.#signature_algorithms ??= readExtensions(message).get('server-sig-algs')?.split(',');
      return;
    }
    if (isIdle(number)) return;
    if (number > 127) {
      const sequence = encodeUint32(this.#incoming.sequence);
      return this.send(Buffer.concat([Buffer.of(MESSAGE.UNIMPLEMENTED), sequence]));
    }
    if (isOfExchange(number)) throw new SshFault('a key exchange that nobody began');
    this.#queue.push(message);
    this.#queued += MESSAGE_ROOM + message.length;
    this.#wakeReader();
  }

  /** Begins a key exchange: from here on nothing else is sent. */
  #offer(): Buffer {
    this.#gate = Promise.withResolvers<void>();
    this.#gate.promise.catch(() => {});
    const init = encodeKexInit(this.#side.role, this.#host_keys, randomBytes(16));
    this.#write(init);
    return init;
  }

  async #exchangeKeys(own_init: Buffer, peers_init: Buffer): Promise<void> {
    const { role } = this.#side;
    const isFirst = this.#session_id === undefined;
    const negotiated = negotiate(role, own_init, peers_init);
    if (isFirst) this.#isStrict = negotiated.isStrict;
    if (isFirst && this.#isStrict && this.#incoming.sequence !== 0) {
      throw new SshFault('something stands before its offer', KEY_EXCHANGE_FAILED);
    }
    if (negotiated.skipsNext) await this.#packet();
    const own = { id: IDENTIFICATION, init: own_init };
    const peers = { id: this.#peer_id, init: peers_init };
    const opening =
      role === 'client' ? { client: own, server: peers } : { client: peers, server: own };
    const next = (number: number): Promise<Buffer> => this.#expect(number, isFirst);
    const io = { send: (payload: Buffer) => void this.#write(payload), next };
    const exchanged = await exchangeSecret(this.#side, negotiated, opening, io);
    this.#key_changes.spent(exchanged.spent_ms);
    this.#session_id ??= exchanged.exchange_hash;
    await this.#changeKeys(negotiated, exchanged, next);
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  async #changeKeys(
    negotiated: Negotiated,
    exchanged: Awaited<ReturnType<typeof exchangeSecret>>,
    next: (number: number) => Promise<Buffer>,
  ): Promise<void> {
    const session_id = this.session_id;
    const keys = deriveKeys(this.#side.role, negotiated, { ...exchanged, session_id });
    this.#write(Buffer.of(MESSAGE.NEWKEYS));
    this.#outgoing.changeKeys(sealerOf(keys.sending), this.#isStrict);
    await next(MESSAGE.NEWKEYS);
    this.#incoming.changeKeys(openerOf(keys.receiving), this.#isStrict);
  }

  /** The one message that may come now. */
  async #expect(number: number, isFirst: boolean): Promise<Buffer> {
    for (;;) {
      const message = await this.#packet();
      if (message?.[0] === number) return message;
      const isIgnored = message && isIdle(message[0] ?? 0) && !(isFirst && this.#isStrict);
      if (message?.[0] === MESSAGE.DISCONNECT) this.#farewell = readFarewell(message);
      if (!isIgnored) throw faultInExchange(message);
    }
  }

  async #identification(): Promise<string> {
    for (;;) {
      const line = this.#incoming.identification(this.#side.role === 'client');
      if (line !== undefined) return line;
      if (this.#hasEnded) throw new SshFault('the connection has ended');
      await this.#untilWoken();
    }
  }

  /** The next packet's payload; undefined at the end. */
  async #packet(): Promise<Buffer | undefined> {
    for (;;) {
      this.#key_changes.checkTime();
      const payload = this.#incoming.next();
      if (this.#stream.isPaused() && this.#incoming.length <= MOST_WAITING) this.#stream.resume();
      if (payload) {
        if (++this.#of_turn % PACKETS_OF_TURN === 0) await nextTurn();
        this.#key_changes.carried(payload);
        return payload;
      }
      if (this.#hasEnded) return undefined;
      await this.#untilWoken();
    }
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakePump = resolve;
    });
  }
}
