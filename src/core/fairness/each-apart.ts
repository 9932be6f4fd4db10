/**
 * Does the same with each of some, one after the other: one that fails does not keep the others from being done.
 *
 * @throws the first failure, once all were tried
 */
export async function eachApart<One>(
  all: Iterable<One>,
  work: (one: One) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const one of all) await work(one).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
