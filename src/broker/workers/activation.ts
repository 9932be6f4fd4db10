import { encodeBase58 } from '../../core/base58.ts';
import { ProtobufWriter } from '../../core/protobuf.ts';

/** How long a worker may take to come with its token. */
export const ACTIVATION_MS = 14 * 86_400_000;
/** Random bytes of a token: a nonce, and the key of a keyed hash over it. */
export const ACTIVATION_RANDOMNESS = 64;

/**
 * The text that an operator puts into a worker's configuration: `neslat_` and base58 of a
 * message whose fields 1 and 2 are the nonce and the key.
 */
export function formatActivationToken(random: Uint8Array): string {
  const message = new ProtobufWriter()
    .bytes(1, random.subarray(0, 32))
    .bytes(2, random.subarray(32, 64));
  return `neslat_${encodeBase58(message.finish())}`;
}
