import { randomBytes } from 'node:crypto';
import { MOST_PACKETS, PLAIN_SEALER, type Sealer } from './ciphers.ts';
import { SshFault } from './fault.ts';

/** Messages as the packets that they are sent in. */
export class Outgoing {
  #sealer: Sealer = PLAIN_SEALER;
  #sequence = 0;
  #by_keys = 0;

  /** What follows is encrypted by other keys. */
  changeKeys(sealer: Sealer, countsAnew: boolean): void {
    this.#sealer = sealer;
    this.#by_keys = 0;
    if (countsAnew) this.#sequence = 0;
  }

  /** @throws SshFault once keys are used up */
  packet(payload: Buffer): Buffer {
    if (++this.#by_keys > MOST_PACKETS) throw new SshFault('its keys are used up');
    const { block, countsLength } = this.#sealer;
    const counted = (countsLength ? 5 : 1) + payload.length;
    let padding = block - (counted % block);
    if (padding < 4) padding += block;
    const packet = Buffer.allocUnsafe(5 + payload.length + padding);
    packet.writeUInt32BE(1 + payload.length + padding, 0);
    packet[4] = padding;
    payload.copy(packet, 5);
    randomBytes(padding).copy(packet, 5 + payload.length);
    const sealed = this.#sealer.seal(packet, this.#sequence);
    this.#sequence = (this.#sequence + 1) >>> 0;
    return sealed;
  }
}
