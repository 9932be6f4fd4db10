import { Breath } from './fairness/breath.ts';

/** Work in steps, each of which takes far less than a millisecond; it ends with what it came to. */
export type Steps<Of> = Generator<undefined, Of, void>;

/** What is mostly there at once, and takes its turns where it takes long. */
export type Soon<Of> = Of | Promise<Of>;

/** Goes on with what may have to be waited for: at once where it is there. */
export function whenThere<Of, To>(soon: Soon<Of>, goOn: (value: Of) => Soon<To>): Soon<To> {
  return soon instanceof Promise ? soon.then(goOn) : goOn(soon);
}

/** Does all steps in one go: for what is known to be little. */
export function doAll<Of>(steps: Steps<Of>): Of {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/**
 * Does the steps at once while they are few, and gives way to others where they are not. What is there
 * at once is no promise: to wait for one costs a request more than most judging does.
 */
export function doInTurns<Of>(steps: Steps<Of>): Soon<Of> {
  const breath = new Breath();
  for (let done = 1; ; done += 1) {
    const step = steps.next();
    if (step.done) return step.value;
    if (done % FEW === 0 && breath.isDue) return goOn(steps, breath);
  }
}

async function goOn<Of>(steps: Steps<Of>, breath: Breath): Promise<Of> {
  await breath.take();
  for (let done = 1; ; done += 1) {
    const step = steps.next();
    if (step.done) return step.value;
    if (done % STEPS === 0 && breath.isDue) await breath.take();
  }
}

/** So many are done whatever the clock says. */
const FEW = 64;
/** Fewer are done sooner than the clock is read. */
const STEPS = 8;
