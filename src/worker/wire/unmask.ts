/** The loop over single bytes costs more than that over words of four, but for the shortest pieces. */
const SHORT = 32;

/**
 * Takes the mask off a piece of a frame's payload, where it lies (RFC 6455 §5.3).
 *
 * @param mask  its four bytes, the first in the lowest eight bits
 * @param phase at which of the mask's bytes the piece begins
 */
export function unmask(bytes: Uint8Array, mask: number, phase: number): void {
  if (mask === 0) return;
  const { length } = bytes;
  // Words lie at multiples of four.
  const before = length < SHORT ? length : -bytes.byteOffset & 3;
  maskBytes(bytes, 0, before, { mask, phase });
  if (before === length) return;
  const count = (length - before) >> 2;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + before, count);
  const turned = turn(mask, phase + before);
  for (let at = 0; at < count; at++) words[at] = (words[at] as number) ^ turned;
  maskBytes(bytes, before + 4 * count, length, { mask, phase });
}

function maskBytes(
  bytes: Uint8Array,
  from: number,
  to: number,
  { mask, phase }: { mask: number; phase: number },
): void {
  for (let at = from; at < to; at++) {
    bytes[at] = (bytes[at] as number) ^ (mask >>> (((phase + at) & 3) << 3));
  }
}

/** The mask as a word that begins with another of its bytes; all machines that this runs on have the lowest byte first. */
function turn(mask: number, phase: number): number {
  const bits = (phase & 3) << 3;
  return bits === 0 ? mask : (mask >>> bits) | (mask << (32 - bits));
}
