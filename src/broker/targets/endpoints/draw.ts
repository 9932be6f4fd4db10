/** How many hosts a set has. */
export interface SetSize {
  host_set_id: string;
  size: number;
}

/** A place among the hosts of several sets, which are numbered through. */
interface Place {
  host_set_id: string;
  /** From 0 on, in the set. */
  at: number;
}

/** How many hosts some sets have, those in several of them counted once for each. */
export const countAll = (sizes: readonly SetSize[]): number =>
  sizes.reduce((sum, { size }) => sum + size, 0);

/** Where a number lies. @param at from 0 on, below {@link countAll} */
export function placeOf(sizes: readonly SetSize[], at: number): Place | undefined {
  let left = at;
  for (const { host_set_id, size } of sizes) {
    if (left < size) return { host_set_id, at: left };
    left -= size;
  }
  return undefined;
}

/**
 * Of the sets that a host is in, the one that it counts in: whoever draws a host in another one draws
 * again, so that each host is as likely as any other, however many sets it is in.
 */
export function ownerOf(host_set_ids: readonly string[]): string | undefined {
  return host_set_ids.reduce<string | undefined>(
    (last, id) => (last === undefined || id > last ? id : last),
    undefined,
  );
}

/**
 * Some of a list, each choice of them as likely as any other.
 *
 * @param roll at least 0 and below 1, another one each time
 */
export function drawSome<Item>(items: readonly Item[], most: number, roll: () => number): Item[] {
  const all = [...items];
  const count = Math.min(most, all.length);
  for (let at = 0; at < count; at++) {
    const other = at + Math.floor(roll() * (all.length - at));
    [all[at], all[other]] = [all[other] as Item, all[at] as Item];
  }
  return all.slice(0, count);
}
