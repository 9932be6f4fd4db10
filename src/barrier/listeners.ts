/** Told of a sealing, an unsealing or other keys. */
export type Listener = () => void | Promise<void>;

/** Tells all of them, one after the other, whatever one of them throws; that is thrown in the end. */
export async function tellAll(listeners: readonly Listener[]): Promise<void> {
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      await listener();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
