/** Bytes that are asked of the generator at once. */
const POOL = 4_096;
/** More at once are asked for by themselves. */
const LONG = 256;

/**
 * Random bytes out of a pool: asking the generator for each number anew costs as much as asking for
 * hundreds, and a session takes some ten. What was given away is wiped from the pool.
 *
 * @param fill fills all of the given bytes anew
 */
export function pooledRandom(fill: (bytes: Uint8Array) => void): (length: number) => Uint8Array {
  const pool = new Uint8Array(POOL);
  let used = POOL;
  return (length) => {
    if (length > LONG) {
      const bytes = new Uint8Array(length);
      fill(bytes);
      return bytes;
    }
    if (used + length > POOL) {
      fill(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + length);
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
}
