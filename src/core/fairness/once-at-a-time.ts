/** Does once more what is asked for while it is under way. @param work answers for its own failures */
export function onceAtATime(work: () => Promise<void>): () => void {
  let isAsked = false;
  let isUnderWay = false;
  const run = async (): Promise<void> => {
    while (isAsked) {
      isAsked = false;
      await work();
    }
    isUnderWay = false;
  };
  return () => {
    isAsked = true;
    if (isUnderWay) return;
    isUnderWay = true;
    run();
  };
}
