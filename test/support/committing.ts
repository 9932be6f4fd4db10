import type { App } from '../../src/app/app.ts';

/** An app that counts how many changes are being made durable at the same time. */
export function countCommitting(app: App): { counting: App; most(): number } {
  let present = 0;
  let most = 0;
  const wait = async (): Promise<void> => {
    present += 1;
    most = Math.max(most, present);
    // Until all that would come have come.
    for (let turn = 0; turn < 100; turn++) await new Promise((next) => setImmediate(next));
  };
  const counted =
    (commit: App['commit']): App['commit'] =>
    async (caller, effects) => {
      await wait();
      await commit(caller, effects).finally(() => {
        present -= 1;
      });
    };
  const { commit, commitOnce } = app;
  const counting = { ...app, commit: counted(commit), commitOnce: counted(commitOnce) };
  return { counting, most: () => most };
}
