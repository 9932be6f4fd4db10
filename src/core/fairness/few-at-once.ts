/** What came of doing the same with many items. */
interface Outcome<Result> {
  /** In the order of the items, of those that were done. */
  done: Result[];
  /** Why not all were; undefined when they were. */
  failed?: { reason: unknown };
}

/**
 * Does something with many items, few of them at a time and in their order. After a failure no other one is
 * begun; those that were begun are waited for.
 */
export async function doFewAtOnce<Item, Result>(
  items: readonly Item[],
  at_once: number,
  work: (item: Item) => Promise<Result>,
): Promise<Outcome<Result>> {
  const done = new Map<number, Result>();
  let failed: { reason: unknown } | undefined;
  let next = 0;
  const goOn = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const at = next++;
      try {
        done.set(at, await work(items[at] as Item));
      } catch (reason) {
        failed ??= { reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_once, items.length) }, goOn));
  const inOrder = [...done].sort(([a], [b]) => a - b).map(([, result]) => result);
  return failed ? { done: inOrder, failed } : { done: inOrder };
}
