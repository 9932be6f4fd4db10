/** What came of doing the same with many things. */
interface Outcome<Result> {
  /** In the order of the things, of those that were done. */
  done: Result[];
  /** Why not all were; undefined when they were. */
  failed?: { reason: unknown };
}

/**
 * Does something with many things, few of them at a time and in their order. After a failure no other one is
 * begun; those that were begun are waited for.
 */
export async function doFewAtOnce<Thing, Result>(
  things: readonly Thing[],
  at_once: number,
  work: (thing: Thing) => Promise<Result>,
): Promise<Outcome<Result>> {
  const done = new Map<number, Result>();
  let failed: { reason: unknown } | undefined;
  let next = 0;
  const goOn = async (): Promise<void> => {
    while (next < things.length && !failed) {
      const at = next++;
      try {
        done.set(at, await work(things[at] as Thing));
      } catch (reason) {
        failed ??= { reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_once, things.length) }, goOn));
  const inOrder = [...done].sort(([a], [b]) => a - b).map(([, result]) => result);
  return failed ? { done: inOrder, failed } : { done: inOrder };
}
