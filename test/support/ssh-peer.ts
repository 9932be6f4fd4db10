/** A peer of SSH that does what no honest one does: it changes keys whenever it likes. */

import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { openerOf, sealerOf } from '../../src/worker/ssh/transport/ciphers.ts';
import { Incoming } from '../../src/worker/ssh/transport/incoming.ts';
import {
  deriveKeys,
  exchangeSecret,
  type Side,
} from '../../src/worker/ssh/transport/key-exchange.ts';
import { MESSAGE, readFarewell } from '../../src/worker/ssh/transport/messages.ts';
import { encodeKexInit, negotiate } from '../../src/worker/ssh/transport/negotiation.ts';
import { Outgoing } from '../../src/worker/ssh/transport/outgoing.ts';

const ID = 'SSH-2.0-Peer';

export class SshPeer {
  readonly #stream: Duplex;
  readonly #side: Side;
  readonly #incoming = new Incoming();
  readonly #outgoing = new Outgoing();
  #peer_id = '';
  #session_id: Buffer | undefined;
  #isStrict = false;
  #hasEnded = false;
  #wake = (): void => {};

  constructor(stream: Duplex, side: Side) {
    this.#stream = stream;
    this.#side = side;
    stream.on('data', (bytes: Buffer) => {
      this.#incoming.push(bytes);
      this.#wake();
    });
    stream.once('end', () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  async start(): Promise<void> {
    this.#stream.write(`${ID}\r\n`);
    this.#peer_id = await this.#until(() => this.#incoming.identification(true));
    await this.changeKeys();
  }

  /** @throws Error with what the other side says when it ends the connection */
  async changeKeys(): Promise<void> {
    const { role } = this.#side;
    const own = encodeKexInit(role, ['ssh-ed25519'], randomBytes(16));
    this.send(own);
    const theirs = await this.receive(MESSAGE.KEXINIT);
    const negotiated = negotiate(role, own, theirs);
    if (!this.#session_id) this.#isStrict = negotiated.isStrict;
    const [here, there] = [
      { id: ID, init: own },
      { id: this.#peer_id, init: theirs },
    ];
    const opening =
      role === 'client' ? { client: here, server: there } : { client: there, server: here };
    const exchanged = await exchangeSecret(this.#side, negotiated, opening, {
      send: (payload) => this.send(payload),
      next: (number) => this.receive(number),
    });
    this.#session_id ??= exchanged.exchange_hash;
    const of = { ...exchanged, session_id: this.#session_id };
    const keys = deriveKeys(role, negotiated, of);
    this.send(Buffer.of(MESSAGE.NEWKEYS));
    this.#outgoing.changeKeys(sealerOf(keys.sending), this.#isStrict);
    await this.receive(MESSAGE.NEWKEYS);
    this.#incoming.changeKeys(openerOf(keys.receiving), this.#isStrict);
  }

  /** A message as it is sent, for whoever cuts it. */
  seal(payload: Buffer): Buffer {
    return this.#outgoing.packet(payload);
  }

  send(payload: Buffer): void {
    this.#stream.write(this.seal(payload));
  }

  /** The next message of a kind; others are let go of. @throws Error at the end, with the other side's last words */
  async receive(number: number): Promise<Buffer> {
    for (;;) {
      const message = await this.#until(() => this.#incoming.next());
      if (message[0] === number) return message;
      if (message[0] === MESSAGE.DISCONNECT) throw new Error(readFarewell(message));
    }
  }

  async #until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error('it has ended');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
