/** What each piece of shared memory weighs; goes with it. */
const weights = new WeakMap<ArrayBufferLike, ArrayBuffer>();

/**
 * Tells this thread's garbage collector how long a CRL is. Shared memory counts nothing with
 * it, so CRLs that nobody needs any more would pile up by the hundred megabytes; memory of
 * the thread's own does count, and takes up no room as long as nobody writes to it.
 */
export function reportExternalMemory(bytes: Uint8Array): void {
  if (weights.has(bytes.buffer)) return;
  weights.set(bytes.buffer, new ArrayBuffer(bytes.buffer.byteLength));
}
