/** Revocations that come within this time of each other share a CRL. */
const QUIET_MS = 100;
/** Building takes at most one part in so many of the time when nobody asks for the CRL. */
const REST = 8;
const LONGEST_REST_MS = 30_000;

/**
 * How long a mount's CRLs rest before they are built anew, in milliseconds: by the longest of its own, as those of
 * other mounts do not wait for it.
 *
 * @param durations what the last CRL of each place, `<mount>/<class>`, took to build, in milliseconds
 * @param shards of a shard: how many of the mount wait to be built; they are many, and each rests for all
 */
export function planRest(
  durations: ReadonlyMap<string, number>,
  mount_id: string,
  shards?: number,
): number {
  let longest = 0;
  for (const [place, took] of durations) {
    const isAlike = shards === undefined || place.includes('/shard=');
    if (isAlike && place.startsWith(`${mount_id}/`)) longest = Math.max(longest, took);
  }
  return Math.min(LONGEST_REST_MS, Math.max(QUIET_MS, longest * REST * (shards ?? 1)));
}
